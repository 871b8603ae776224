//! Security events on their way to the store: one bounded queue, one writer. A record that does not fit is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use crate::clock::{Clock, Stopwatch, rfc3339};
use crate::events::kinds::ServiceFailed;
use crate::events::{Events, SecurityRecords};
use model::SecurityRecord;
use store::SecurityLog;

/// Most records that wait.
const MAX_QUEUED: usize = 16_384;
/// Most records that are written at once.
const BATCH: usize = 512;
/// How long records gather before they are written.
const FLUSH_INTERVAL: Duration = Duration::from_millis(20);
/// How long the end of the process waits for the last records.
const FLUSH: Duration = Duration::from_secs(10);
/// Written records after which the oldest are looked for.
const ROWS_BETWEEN_SWEEPS: usize = 1_000;
/// How often old ones are looked for, at least; more often if they are kept for less than ten minutes.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// Starts the writing thread, which ends with the last sender, and has the events of a process recorded.
pub fn start(log: SecurityLog, retention: Duration, clock: Clock, events: &Events) -> SecurityQueue {
    let (records, received) = sync_channel(MAX_QUEUED);
    let queue = SecurityQueue { waiting: Arc::default() };
    events.record_to(QueuedRecords { records, waiting: Arc::clone(&queue.waiting) });
    let failed = events.clone();
    let waiting = Arc::clone(&queue.waiting);
    let writer = SecurityWriter { received, waiting, log, retention, clock, events: events.clone() };
    let spawned = std::thread::Builder::new().name("security-log".to_owned()).spawn(|| writer.run());
    if let Err(error) = spawned {
        let error = format!("cannot start a thread: {error}");
        failed.emit(&ServiceFailed { service: "security log", error });
    }
    queue
}

/// What waits to be written.
#[derive(Clone, Debug)]
pub struct SecurityQueue {
    waiting: Arc<AtomicUsize>,
}

impl SecurityQueue {
    /// Waits until every record so far is written, ten seconds at most.
    pub fn flush(&self) {
        for _ in 0..FLUSH.as_millis() {
            if self.waiting.load(Ordering::Acquire) == 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The way to the thread.
struct QueuedRecords {
    records: SyncSender<(SecurityRecord, bool)>,
    waiting: Arc<AtomicUsize>,
}

impl SecurityRecords for QueuedRecords {
    fn add(&self, record: SecurityRecord, is_again: bool) -> bool {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let fits = self.records.try_send((record, is_again)).is_ok();
        if !fits {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        fits
    }
}

struct SecurityWriter {
    received: Receiver<(SecurityRecord, bool)>,
    waiting: Arc<AtomicUsize>,
    log: SecurityLog,
    /// Zero for no end.
    retention: Duration,
    clock: Clock,
    events: Events,
}

impl SecurityWriter {
    fn run(mut self) {
        let mut swept: Option<Stopwatch> = None;
        let mut written = 0;
        let interval = match self.retention {
            Duration::ZERO => SWEEP_INTERVAL,
            age => (age / 10).clamp(Duration::from_millis(100), SWEEP_INTERVAL),
        };
        loop {
            let first = match self.received.recv_timeout(interval) {
                Ok(record) => Some(record),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if let Some(first) = first {
                let mut batch = vec![first];
                batch.extend(self.received.try_iter().take(BATCH - 1));
                let is_full = batch.len() == BATCH;
                written += batch.len();
                self.report(|log| log.append(&batch));
                self.waiting.fetch_sub(batch.len(), Ordering::Release);
                if !is_full {
                    std::thread::sleep(FLUSH_INTERVAL);
                }
            }
            let is_due = swept.as_ref().is_none_or(|swept| swept.elapsed() >= interval);
            if is_due || written >= ROWS_BETWEEN_SWEEPS {
                written = 0;
                swept = Some(self.clock.start());
                let before = (!self.retention.is_zero()).then(|| rfc3339(self.clock.now() - self.retention));
                self.report(|log| {
                    while log.sweep(before.as_deref())? {}
                    Ok(())
                });
            }
        }
    }

    fn report(&mut self, work: impl FnOnce(&mut SecurityLog) -> Result<(), store::StoreError>) {
        if let Err(error) = work(&mut self.log) {
            self.events.emit(&ServiceFailed { service: "security log", error: error.to_string() });
        }
    }
}
