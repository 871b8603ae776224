//! How many rows of calls a gateway keeps.

use serde::{Deserialize, Serialize};

/// What becomes of rows that a log has no room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LogStrategy {
    /// They are not written.
    StopInserting,
    /// The oldest go.
    #[default]
    DeleteOldest,
}

/// The most rows of calls that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogCap {
    pub rows: u64,
    pub strategy: LogStrategy,
}

impl LogCap {
    /// The most that `rows` may say.
    pub const MAX_ROWS: u64 = 10_000_000;
}
