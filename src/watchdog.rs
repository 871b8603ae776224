//! A watch over the workers: one that is busy with the same task for seconds serves nobody else.
//!
//! Tasks are to give other tasks a turn every few milliseconds. One that does not is a bug of ours, and would
//! show only as requests that wait.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::{Handle, RuntimeMetrics};

use crate::events::Events;
use crate::events::kinds::WorkerStuck;

/// Between two looks at the workers.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// Looks at which a worker has to be at the same task to be reported.
const PATIENCE_LOOKS: u32 = 5;

/// Looks at the workers of all runtimes that were named to it, on a thread of its own.
#[derive(Clone, Debug)]
pub struct Watchdog {
    watched: Arc<Mutex<Vec<Watched>>>,
}

#[derive(Debug)]
struct Watched {
    service: String,
    metrics: RuntimeMetrics,
    workers: Vec<Worker>,
}

#[derive(Clone, Debug, Default)]
struct Worker {
    seen: Seen,
    unchanged_looks: u32,
}

/// What changes with each task that a worker ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    parks: u64,
    busy: Duration,
}

impl Watchdog {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start(events: Events) -> std::io::Result<Self> {
        Self::start_with(BETWEEN_LOOKS, events)
    }

    fn start_with(between_looks: Duration, events: Events) -> std::io::Result<Self> {
        let watchdog = Self { watched: Arc::default() };
        let watched = Arc::clone(&watchdog.watched);
        std::thread::Builder::new().name("watchdog".to_owned()).spawn(move || {
            loop {
                std::thread::sleep(between_looks);
                for watched in watched.lock().iter_mut() {
                    watched.look(&events);
                }
            }
        })?;
        Ok(watchdog)
    }

    /// Also watches the workers of the runtime that this is called in, under the name of its service.
    pub fn watch(&self, service: &str) {
        let metrics = Handle::current().metrics();
        let workers = vec![Worker::default(); metrics.num_workers()];
        self.watched.lock().push(Watched { service: service.to_owned(), metrics, workers });
    }
}

impl Watched {
    fn look(&mut self, events: &Events) {
        for (nth, worker) in self.workers.iter_mut().enumerate() {
            let seen = Seen {
                parks: self.metrics.worker_park_unpark_count(nth),
                busy: self.metrics.worker_total_busy_duration(nth),
            };
            // The count is odd while a worker is parked.
            let is_same = seen == worker.seen && seen.parks.is_multiple_of(2);
            worker.unchanged_looks = if is_same { worker.unchanged_looks.saturating_add(1) } else { 0 };
            worker.seen = seen;
            if worker.unchanged_looks == PATIENCE_LOOKS {
                events.emit(&WorkerStuck { service: &self.service, worker: nth });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_worker_that_makes_no_progress_is_reported_once() {
        let events = Events::silent();
        let watchdog = Watchdog::start_with(Duration::from_millis(100), events.clone()).unwrap();
        for threads in [1, 2] {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(threads)
                .enable_all()
                .build()
                .unwrap();
            let (release, held) = mpsc::channel::<()>();
            let before = events.metrics().workers_stuck.get();
            let seen = watchdog.clone();
            runtime.spawn(async move { seen.watch("listener") });
            // One that is busy with many short tasks is not stuck.
            runtime.spawn(async {
                loop {
                    tokio::task::yield_now().await;
                }
            });
            runtime.spawn(async move { held.recv() });
            let mut looks = 0;
            while events.metrics().workers_stuck.get() == before {
                looks += 1;
                assert!(looks < 6000, "it is never reported");
                std::thread::sleep(Duration::from_millis(10));
            }
            assert_eq!(events.metrics().workers_stuck.get(), before + 1);
            drop(release);
            runtime.shutdown_background();
        }
    }
}
