//! What is asked of a log of AI calls, whatever keeps it.

use super::call_totals::{CallTotals, TotalsBy};
use model::{AiLog, Counted, LogCap};

/// A row that is to be written.
#[derive(Clone, Debug)]
pub struct NewRecord {
    pub log: AiLog,
    /// How many rows its gateway keeps.
    pub cap: Option<LogCap>,
}

/// Of a gateway that keeps as many rows as there is room for.
impl From<AiLog> for NewRecord {
    fn from(log: AiLog) -> Self {
        Self { log, cap: None }
    }
}

/// Where rows are kept.
pub trait RecordLog: Send {
    /// Appends rows, and adds what limits counted, durably. Returns how many rows were not written because their gateway has as
    /// many as it keeps.
    ///
    /// # Errors
    /// One sentence if they cannot be written; none of them is then.
    fn append(&mut self, rows: &[NewRecord], counted: &[Counted]) -> Result<usize, String>;

    /// Lets up to `most` rows go, the oldest: those made before a moment (RFC 3339), and those that are too
    /// many. True if there may be more.
    ///
    /// # Errors
    /// One sentence if they cannot be deleted.
    fn sweep(&mut self, before: Option<&str>, most: usize) -> Result<bool, String>;

    /// Puts the file in order, beside one who appends.
    ///
    /// # Errors
    /// One sentence if it fails; no row is lost.
    fn tidy(&mut self) -> Result<(), String>;
}

/// Where rows are read.
pub trait RecordReader: Send {
    /// Rows without their bodies, and how many there are in all.
    ///
    /// # Errors
    /// One sentence if they cannot be read.
    fn page(&self, query: &LogQuery) -> Result<(Vec<AiLog>, u64), String>;

    /// What the rows of a query come to, by their values; up to `limit` of these.
    ///
    /// # Errors
    /// One sentence if they cannot be read.
    fn totals(&self, query: &LogQuery, by: &TotalsBy) -> Result<Vec<CallTotals>, String>;

    /// A row by its id.
    ///
    /// # Errors
    /// One sentence if it cannot be read.
    fn get(&self, id: &str) -> Result<Option<AiLog>, String>;

    /// Writes feedback, score and metadata into the row of a call. If there is no such row, nothing changes.
    ///
    /// # Errors
    /// One sentence if it cannot be written.
    fn annotate(&self, id: &str, annotation: &Annotation) -> Result<(), String>;

    /// Deletes up to `limit` rows of a query, and says how many.
    ///
    /// # Errors
    /// One sentence if they cannot be deleted.
    fn delete(&self, query: &LogQuery) -> Result<u64, String>;
}

/// What people say of a call; what is `None` stays as it was.
#[derive(Clone, Debug, Default)]
pub struct Annotation {
    /// -1, 0 or 1.
    pub feedback: Option<i64>,
    pub score: Option<f64>,
    /// JSON of the metadata, which it replaces.
    pub metadata: Option<String>,
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
