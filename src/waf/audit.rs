//! The audit log that rule files ask for: its settings, and the record of one transaction.
//!
//! A record is a line of JSON as ModSecurity 3 writes it with `SecAuditLogFormat JSON`. The engine composes it; who runs
//! the engine writes it to the files.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::pattern::Pattern;

/// Which transactions have a record: `SecAuditEngine`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuditMode {
    #[default]
    Off,
    On,
    /// Those with a relevant status, and those that a rule with `auditlog` matched.
    RelevantOnly,
}

/// What the `SecAudit…` directives set.
#[derive(Clone, Debug)]
pub struct AuditIr {
    pub mode: AuditMode,
    /// `SecAuditLogParts`: capital letters.
    pub parts: String,
    /// `SecAuditLogRelevantStatus`
    pub relevant_status: Option<Arc<Pattern>>,
    /// `SecAuditLog`
    pub log: Option<PathBuf>,
    /// `SecAuditLogStorageDir`
    pub storage: Option<PathBuf>,
    /// `SecAuditLogType Concurrent`
    pub is_concurrent: bool,
}

impl Default for AuditIr {
    fn default() -> Self {
        Self {
            mode: AuditMode::Off,
            parts: "ABCFHZ".to_owned(),
            relevant_status: None,
            log: None,
            storage: None,
            is_concurrent: false,
        }
    }
}

impl AuditIr {
    /// Where records go; `None` if there are none, or no file is named.
    pub fn files(&self) -> Option<AuditFiles> {
        let log = self.log.clone().filter(|_| self.mode != AuditMode::Off)?;
        match self.is_concurrent {
            true => Some(AuditFiles { log, storage: Some(self.storage.clone()?) }),
            false => Some(AuditFiles { log, storage: None }),
        }
    }

    pub(super) fn has(&self, part: char) -> bool {
        self.parts.contains(part)
    }
}

/// Where records are written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AuditFiles {
    /// All records, a line each; or with a folder a line for each record that says where it is.
    pub log: PathBuf,
    /// The folder in which each record has a file of its own: `SecAuditLogType Concurrent`.
    pub storage: Option<PathBuf>,
}

/// The record of one transaction.
#[derive(Clone, Debug)]
pub struct AuditRecord {
    pub files: Arc<AuditFiles>,
    /// One line, without its end.
    pub json: Vec<u8>,
    pub request_id: String,
    /// When the request came, since the Unix epoch.
    pub received: Duration,
    /// What the line of a concurrent log says of the request, up to its id.
    pub summary: String,
}
