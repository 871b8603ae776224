//! Why the store did not do what it was asked.

use std::fmt;

use super::Revision;

/// Why the store did not do what it was asked.
#[derive(Debug)]
pub enum StoreError {
    /// Somebody else committed first.
    Conflict { expected: Revision, found: Revision },
    /// The state cannot be read or written.
    Failed(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict { expected, found } => {
                write!(
                    f,
                    "the resources are at revision {found}, not {expected}; read them again and repeat the change"
                )
            }
            Self::Failed(reason) => write!(f, "the state cannot be used: {reason}"),
        }
    }
}

impl StoreError {
    /// The same about a file, which people must know to mend it.
    pub(crate) fn of_file(self, name: &str) -> Self {
        match self {
            Self::Failed(reason) => Self::Failed(format!("`{name}`: {reason}")),
            conflict @ Self::Conflict { .. } => conflict,
        }
    }
}

impl std::error::Error for StoreError {}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
