//! The end of a gateway's call, off its path: usage, cost, limits settled, metrics, the row in the log.
//!
//! Finished calls wait in one queue, bounded in calls and bytes, for one thread. A call that does not fit loses
//! its row, is counted, and is settled at what was reserved for it.

mod finished;
pub mod security;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use crate::clock::Clock;
use crate::events::Events;
use crate::events::kinds::AiLogDropped;
pub use finished::Finished;
use gateway::limit::{Ledger, Used};
use store::RecordLog;
use writer::Writer;

/// Most calls that wait, and most bytes of them.
const MAX_QUEUED_CALLS: usize = 16_384;
const MAX_QUEUED_BYTES: usize = 64 << 20;
/// How long the end of the process waits for the last rows.
const FLUSH: Duration = Duration::from_secs(10);

/// How long rows are kept.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Zero for no end.
    pub age: Duration,
    pub clock: Clock,
}

impl Retention {
    /// How often old rows are looked for: a tenth of their age, and once a minute at least.
    fn interval(self) -> Duration {
        (self.age / 10).clamp(Duration::from_millis(100), Duration::from_mins(1))
    }
}

/// Calls that are sent and not yet written.
#[derive(Debug, Default)]
struct Waiting {
    calls: AtomicUsize,
    bytes: AtomicUsize,
}

/// The way to the writing thread; clones share one queue.
#[derive(Clone, Debug)]
pub struct Recorder {
    calls: SyncSender<Box<Finished>>,
    waiting: Arc<Waiting>,
    ledger: Arc<Ledger>,
    events: Events,
}

impl Recorder {
    /// Starts the writing thread; it ends when the last clone is gone.
    pub fn start(
        ledger: Arc<Ledger>,
        rows: Box<dyn RecordLog>,
        retention: Retention,
        events: Events,
    ) -> Self {
        let (calls, received) = sync_channel(MAX_QUEUED_CALLS);
        let waiting = Arc::new(Waiting::default());
        Writer::new(received, Arc::clone(&waiting), rows, retention, events.clone()).spawn();
        Self { calls, waiting, ledger, events }
    }

    /// Hands a call over. Never waits.
    pub fn finish(&self, call: Finished) {
        let Err(mut call) = self.add(Box::new(call), MAX_QUEUED_BYTES) else { return };
        for reservation in call.reservations.drain(..) {
            drop(reservation.settle(Used::AS_RESERVED));
        }
        self.events.emit(&AiLogDropped { rows: 1, reason: "queue_full" });
    }

    /// Adds a call to the queue. The call comes back if it would be more than `max_bytes`.
    fn add(&self, call: Box<Finished>, max_bytes: usize) -> Result<(), Box<Finished>> {
        let size = call.size();
        if self.waiting.bytes.fetch_add(size, Ordering::Relaxed) + size > max_bytes {
            self.waiting.bytes.fetch_sub(size, Ordering::Relaxed);
            return Err(call);
        }
        self.waiting.calls.fetch_add(1, Ordering::Relaxed);
        self.calls.try_send(call).map_err(|error| {
            self.waiting.calls.fetch_sub(1, Ordering::Relaxed);
            self.waiting.bytes.fetch_sub(size, Ordering::Relaxed);
            let (TrySendError::Full(call) | TrySendError::Disconnected(call)) = error;
            call
        })
    }

    /// Waits until every call so far is written. Calls that are not written after ten seconds are counted as lost.
    pub fn flush(&self) {
        let rows = self.flush_within(FLUSH);
        if rows > 0 {
            self.events.emit(&AiLogDropped { rows, reason: "ended" });
        }
    }

    /// Lets others run until every call so far is written, but no longer than `timeout`.
    pub async fn written_within(&self, timeout: Duration) {
        let written = async {
            while self.waiting.calls.load(Ordering::Acquire) > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        // What is not written then is waited for by `flush`.
        let _ = tokio::time::timeout(timeout, written).await;
    }

    /// Waits until every call is written. Returns how many calls are not after `timeout`.
    fn flush_within(&self, timeout: Duration) -> usize {
        for _ in 0..timeout.as_millis() {
            if self.waiting.calls.load(Ordering::Acquire) == 0 {
                return 0;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.waiting.calls.load(Ordering::Acquire)
    }

    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use parking_lot::Mutex;

    use super::*;
    use model::{AiLog, Counted};
    use store::NewRecord;

    /// Rows in memory. Each batch waits for a permit, if there are permits.
    #[derive(Clone, Default)]
    struct Kept {
        ids: Arc<Mutex<Vec<String>>>,
        sweeps: Arc<AtomicUsize>,
        tidied: Arc<AtomicUsize>,
        permits: Option<Arc<Mutex<std::sync::mpsc::Receiver<()>>>>,
    }

    impl RecordLog for Kept {
        fn append(&mut self, rows: &[NewRecord], _: &[Counted]) -> Result<usize, String> {
            if let Some(permits) = &self.permits {
                let _ = permits.lock().recv();
            }
            self.ids.lock().extend(rows.iter().map(|row| row.log.id.clone()));
            Ok(0)
        }

        fn sweep(&mut self, before: Option<&str>, _: usize) -> Result<bool, String> {
            assert!(before.is_none());
            Ok(self.sweeps.fetch_add(1, Ordering::SeqCst) < 3)
        }

        fn tidy(&mut self) -> Result<(), String> {
            self.tidied.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    }

    fn recorder(kept: &Kept) -> Recorder {
        let forever = Retention { age: Duration::ZERO, clock: Clock::real() };
        Recorder::start(Arc::default(), Box::new(kept.clone()), forever, Events::silent())
    }

    fn call(id: usize) -> Finished {
        let log = AiLog { id: format!("{id:05}"), ..AiLog::default() };
        Finished { log, collect_log: true, ..Finished::default() }
    }

    #[test]
    fn each_call_is_written_once_and_old_rows_go() {
        let kept = Kept::default();
        let recorder = recorder(&kept);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let recorder = recorder.clone();
                scope.spawn(move || (0..2000).for_each(|nth| recorder.finish(call(thread * 2000 + nth))));
            }
        });
        assert_eq!(recorder.flush_within(FLUSH), 0);
        let mut ids = kept.ids.lock().clone();
        ids.sort_unstable();
        assert_eq!(ids, (0..8000).map(|id| format!("{id:05}")).collect::<Vec<_>>());
        assert_eq!(recorder.waiting.bytes.load(Ordering::SeqCst), 0);
        while kept.sweeps.load(Ordering::SeqCst) < 4 {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(recorder);
        // The thread ends, and leaves the file in order.
        while Arc::strong_count(&kept.ids) > 1 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(kept.tidied.load(Ordering::SeqCst) > 0);
    }

    #[test]
    fn a_writer_that_is_stuck_loses_only_what_does_not_fit() {
        let (permit, permits) = channel();
        let kept = Kept { permits: Some(Arc::new(Mutex::new(permits))), ..Kept::default() };
        let recorder = recorder(&kept);
        let size = call(0).size();
        let room = 10 * size;
        let refused = (0..30).filter(|id| recorder.add(Box::new(call(*id)), room).is_err()).count();
        assert_eq!(refused, 20);
        let left = recorder.flush_within(Duration::from_millis(5));
        assert_eq!(left, 10);
        drop(permit);
        assert_eq!(recorder.flush_within(FLUSH), 0);
        assert_eq!(kept.ids.lock().len(), 10);
    }
}
