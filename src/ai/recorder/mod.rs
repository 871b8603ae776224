//! The end of a call, off its path: usage, cost, limits settled, metrics, the row in the log.
//!
//! Finished calls wait in a queue bounded in bytes. What does not fit loses its row, is counted, and is
//! settled at what was reserved for it. The *quiet* thread takes them where a processor has nothing else to
//! do: a request that has to wait for a thread of ordinary rank waits until its turn is over, a millisecond
//! and more. Where it does not keep up, a *helper* of ordinary rank takes its place for a while.

mod backlog;
mod finished;
mod threads;

use std::sync::Arc;
use std::time::Duration;

use super::limit::{Ledger, Used};
use crate::clock::Clock;
use crate::events::Events;
use crate::events::kinds::AiLogDropped;
use crate::model::{AiLog, Counted};
use backlog::Backlog;
pub use finished::{Finished, subject};

/// Most bytes of calls that wait.
const MAX_QUEUED_BYTES: usize = 64 << 20;
/// How long the end of the process waits for the last rows.
const FLUSH: Duration = Duration::from_secs(10);
/// Bytes that a token is taken for where nobody counts: English and code have about four.
pub const BYTES_PER_TOKEN: u64 = 4;

/// Where rows are kept.
pub trait RecordLog: Send {
    /// Appends rows, and adds what limits counted, durably.
    ///
    /// # Errors
    /// One sentence where they cannot be written; none of them is then.
    fn append(&mut self, rows: &[AiLog], counted: &[Counted]) -> Result<(), String>;

    /// Lets up to `most` rows go, the oldest: those made before a moment (RFC 3339), and those that are too
    /// many. True where there may be more.
    ///
    /// # Errors
    /// One sentence where they cannot be deleted.
    fn sweep(&mut self, before: Option<&str>, most: usize) -> Result<bool, String>;

    /// Puts the file in order, beside one who appends.
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

/// The way to the recorder; clones share one queue.
#[derive(Clone, Debug)]
pub struct Recorder {
    open: Arc<Open>,
    ledger: Arc<Ledger>,
    events: Events,
}

/// Calls may still come.
#[derive(Debug)]
struct Open(Arc<Backlog>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Recorder {
    /// Starts the threads, each with a way to the rows; they end when the last clone is gone.
    pub fn start(
        ledger: Arc<Ledger>,
        rows: [Box<dyn RecordLog>; 3],
        retention: Retention,
        events: Events,
    ) -> Self {
        let backlog = Arc::new(Backlog::default());
        threads::start(&backlog, rows, retention, &events);
        Self { open: Arc::new(Open(backlog)), ledger, events }
    }

    /// Hands a call over. Never waits.
    pub fn finish(&self, call: Finished) {
        let Err(mut call) = self.open.0.add(Box::new(call), MAX_QUEUED_BYTES) else { return };
        if let Some(reservation) = call.reservation.take() {
            drop(reservation.settle(Used::AS_RESERVED));
        }
        self.events.emit(&AiLogDropped { rows: 1, reason: "queue_full" });
    }

    /// Waits until every call so far is written. What is not by the end of its patience is counted as lost.
    pub fn flush(&self) {
        let rows = self.open.0.flush(FLUSH);
        if rows > 0 {
            self.events.emit(&AiLogDropped { rows, reason: "ended" });
        }
    }

    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }
}
