//! The end of a call, off its path: usage, cost, limits settled, metrics, the row in the log.
//!
//! One thread takes finished calls from a queue bounded in bytes. What does not fit loses its row, is
//! counted, and is settled at what was reserved for it.

mod finished;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::Gateways;
use super::limit::{Amounts, Caller, Ledger};
use super::metadata::Metadata;
use super::price;
use crate::clock::{Clock, Stopwatch, rfc3339};
use crate::events::Events;
use crate::events::kinds::{AiCall, AiLogDropped, ServiceFailed};
use crate::model::AiLog;
pub use finished::{Finished, subject};

/// Most bytes of calls that wait.
const MAX_QUEUED_BYTES: usize = 64 << 20;
/// Rows that are written at once.
const MAX_BATCH: usize = 512;
/// From so many calls at once on more are gathered before the next look: waking a thread for each costs
/// its caller more than the rest of the call.
const BUSY_BATCH: usize = 4;
/// Whoever shares a processor with the thread waits for as long as a batch takes: many small ones.
const GATHER: Duration = Duration::from_millis(1);
/// After so long without a call what could wait is done.
const IDLE: Duration = Duration::from_millis(200);
/// How long the end of the process waits for the last rows.
const FLUSH: Duration = Duration::from_secs(10);
/// Bytes that a token is taken for where nobody counts: English and code have about four.
pub const BYTES_PER_TOKEN: u64 = 4;

/// Where rows are kept.
pub trait RecordLog: Send {
    /// Appends rows, durably.
    ///
    /// # Errors
    /// One sentence where they cannot be written; none of them is then.
    fn append(&mut self, rows: &[AiLog]) -> Result<(), String>;

    /// Lets go of rows that were made before a moment (RFC 3339).
    ///
    /// # Errors
    /// One sentence where they cannot be deleted.
    fn expire(&mut self, before: &str) -> Result<(), String>;

    /// Does what can wait until nothing else is to be done.
    ///
    /// # Errors
    /// One sentence where it cannot be done; nothing is lost by it.
    fn tidy(&mut self) -> Result<(), String>;
}

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

/// Where rows are read.
pub trait RecordReader: Send {
    /// Rows without their bodies, and how many there are in all.
    ///
    /// # Errors
    /// One sentence where they cannot be read.
    fn page(&self, query: &LogQuery) -> Result<(Vec<AiLog>, u64), String>;

    /// A row by its id.
    ///
    /// # Errors
    /// One sentence where it cannot be read.
    fn get(&self, id: &str) -> Result<Option<AiLog>, String>;
}

/// Which rows are asked for.
#[derive(Clone, Debug, Default)]
pub struct LogQuery {
    /// `account/gateway`
    pub gateway: String,
    pub skip: u64,
    pub limit: u32,
    /// The oldest first.
    pub ascending: bool,
    /// RFC 3339; from the first, up to but not with the second.
    pub start_date: Option<String>,
    pub end_date: Option<String>,
    pub success: Option<bool>,
    pub cached: Option<bool>,
    pub provider: Option<String>,
    pub model: Option<String>,
}

/// Counts calls of the past towards the limits of today.
pub fn recover(ledger: &Ledger, gateways: &Gateways, past: &[AiLog], now: Duration) {
    for row in past {
        let gateway = gateways.by_account.get(&row.account_id).and_then(|all| all.get(&row.gateway_id));
        let Some(gateway) = gateway.filter(|gateway| !gateway.settings.limits.is_empty()) else { continue };
        let Ok(at) = row.created_at.parse::<jiff::Timestamp>() else { continue };
        let at = Duration::from_micros(u64::try_from(at.as_microsecond()).unwrap_or(0));
        let metadata = Metadata { entries: row.metadata.clone(), warnings: Vec::new() };
        let caller = Caller {
            gateway: &gateway.label,
            token: row.token_id.as_deref(),
            provider: &row.provider,
            model: Some(&row.model),
            metadata: &metadata,
        };
        let used = Amounts {
            tokens: row.tokens_in.unwrap_or(0) + row.tokens_out.unwrap_or(0),
            cost_nanos: row.cost.and_then(price::nanos).unwrap_or(0),
        };
        ledger.recover(&gateway.settings.limits, caller, used, at, now);
    }
}

/// The way to the recorder; clones share one queue.
#[derive(Clone, Debug)]
pub struct Recorder {
    calls: Sender<Job>,
    queued: Arc<AtomicUsize>,
    ledger: Arc<Ledger>,
    events: Events,
}

#[derive(Debug)]
enum Job {
    Call(Box<Finished>),
    /// Says when everything before it is done.
    Flush(Sender<()>),
}

impl Recorder {
    /// Starts the thread; it ends when the last clone is gone.
    pub fn start(
        ledger: Arc<Ledger>,
        rows: Box<dyn RecordLog>,
        retention: Retention,
        events: Events,
    ) -> Self {
        let (calls, waiting) = channel();
        let queued = Arc::new(AtomicUsize::new(0));
        let work = Work { events: events.clone(), rows, retention, batch: Vec::new(), is_tidy: true };
        let counted = Arc::clone(&queued);
        let thread = std::thread::Builder::new().name("ai-log".to_owned());
        if let Err(error) = thread.spawn(move || work.run(&waiting, &counted)) {
            let error = format!("cannot start a thread: {error}");
            events.emit(&ServiceFailed { service: "ai-log", error });
        }
        Self { calls, queued, ledger, events }
    }

    /// Hands a call over. Never waits.
    pub fn finish(&self, mut call: Finished) {
        let size = call.size();
        let is_full = self.queued.fetch_add(size, Ordering::Relaxed) + size > MAX_QUEUED_BYTES;
        if is_full {
            self.queued.fetch_sub(size, Ordering::Relaxed);
            if let Some(reservation) = call.reservation.take() {
                reservation.settle_as_reserved();
            }
            self.events.emit(&AiLogDropped { rows: 1, reason: "queue_full" });
            return;
        }
        // Only fails where the thread is gone, at the end of the process.
        let _ = self.calls.send(Job::Call(Box::new(call)));
    }

    /// Waits until every call so far is written.
    pub fn flush(&self) {
        let (done, waiting) = channel();
        if self.calls.send(Job::Flush(done)).is_ok() {
            // Past the time the process ends all the same.
            let _ = waiting.recv_timeout(FLUSH);
        }
    }

    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }
}

/// What the thread works with.
struct Work {
    events: Events,
    rows: Box<dyn RecordLog>,
    retention: Retention,
    batch: Vec<AiLog>,
    /// Whether nothing was written since the last look.
    is_tidy: bool,
}

impl Work {
    fn run(mut self, waiting: &Receiver<Job>, queued: &AtomicUsize) {
        let mut swept: Option<Stopwatch> = None;
        loop {
            if swept.is_none_or(|swept| swept.elapsed() >= self.retention.interval()) {
                self.expire();
                swept = Some(self.retention.clock.start());
            }
            let patience =
                if self.is_tidy { self.retention.interval() } else { IDLE.min(self.retention.interval()) };
            let job = match waiting.recv_timeout(patience) {
                Ok(job) => job,
                Err(RecvTimeoutError::Timeout) => {
                    self.tidy();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut flushed = Vec::new();
            let mut calls = 0;
            let mut next = Some(job);
            while let Some(job) = next {
                match job {
                    Job::Call(call) => self.take(*call, queued),
                    Job::Flush(done) => flushed.push(done),
                }
                calls += 1;
                next = if calls < MAX_BATCH { waiting.try_recv().ok() } else { None };
            }
            self.write();
            for done in flushed {
                // Who asked may have stopped waiting.
                let _ = done.send(());
            }
            if calls >= BUSY_BATCH {
                std::thread::sleep(GATHER);
            }
        }
    }

    fn expire(&mut self) {
        let Retention { age, clock } = self.retention;
        let Some(before) = clock.now().checked_sub(age).filter(|_| !age.is_zero()) else { return };
        let expired = self.rows.expire(&rfc3339(before));
        self.tell(expired);
    }

    fn tidy(&mut self) {
        if !std::mem::replace(&mut self.is_tidy, true) {
            let tidied = self.rows.tidy();
            self.tell(tidied);
        }
    }

    fn tell(&self, done: Result<(), String>) {
        if let Err(error) = done {
            self.events.emit(&ServiceFailed { service: "ai-log", error });
        }
    }

    fn take(&mut self, mut call: Finished, queued: &AtomicUsize) {
        let size = call.size();
        let reservation = call.reservation.take();
        let (usage, model) = call.complete();
        if let Some(reservation) = reservation {
            let tokens = usage.input.unwrap_or(0) + usage.output.unwrap_or(0);
            let cost_nanos = call.log.cost.and_then(price::nanos).unwrap_or(0);
            reservation.settle(Amounts { tokens, cost_nanos });
        }
        call.score();
        call.scan(&self.events);
        self.events.emit(&AiCall {
            log: &call.log,
            usage: &usage,
            telemetry_name: call.telemetry_name,
            priced_model: &model,
            is_stream: call.is_stream,
            streamed_for: call.streamed_for,
            writes_line: call.collect_log,
        });
        if call.collect_log {
            call.payloads();
            self.batch.push(call.log);
        }
        queued.fetch_sub(size, Ordering::Relaxed);
    }

    fn write(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let written = self.rows.append(&self.batch);
        if written.is_err() {
            self.events.emit(&AiLogDropped { rows: self.batch.len(), reason: "not_written" });
        }
        self.tell(written);
        self.batch.clear();
        self.is_tidy = false;
    }
}
