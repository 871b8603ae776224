//! The audit log that rule files ask for: its settings, and the record of one transaction.
//!
//! A record has the form that ModSecurity 3 writes with `SecAuditLogFormat JSON`. The engine gathers what is in it; who
//! runs the engine serialises it, which for long bodies takes long, and writes it to the files.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::ser::{Serialize, SerializeMap, Serializer};

use pattern::Pattern;

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
    pub entry: AuditEntry,
    /// When the request came, since the Unix epoch.
    pub received: Duration,
    /// What the line of a concurrent log says of the request, up to its id; `None` for a serial log.
    pub summary: Option<String>,
}

/// The whole of a record, as it is serialised.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct AuditEntry {
    pub transaction: AuditTransaction,
}

#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct AuditTransaction {
    pub client_ip: String,
    pub time_stamp: String,
    pub server_id: &'static str,
    pub client_port: u16,
    pub host_ip: String,
    pub host_port: u16,
    pub unique_id: String,
    pub request: AuditRequest,
    pub response: AuditResponse,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub producer: Option<AuditProducer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<serde_json::Value>>,
}

#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct AuditRequest {
    pub method: String,
    pub http_version: f64,
    pub uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<AuditBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<AuditFields>,
}

#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct AuditResponse {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<AuditBody>,
    pub http_code: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<AuditFields>,
}

/// Who judged the request.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct AuditProducer {
    pub modsecurity: &'static str,
    pub connector: &'static str,
    pub secrules_engine: &'static str,
    pub components: Vec<String>,
}

/// A body; what is not UTF-8 in it becomes replacement characters.
#[derive(Clone, Debug, Default)]
pub struct AuditBody(pub Bytes);

impl Serialize for AuditBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&String::from_utf8_lossy(&self.0))
    }
}

/// Header fields in their order, as members of an object: one name may be there more than once.
#[derive(Clone, Debug, Default)]
pub struct AuditFields(pub Vec<(String, String)>);

impl Serialize for AuditFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

impl AuditRecord {
    /// Bytes of memory that its bodies take, and about what the rest of it does.
    pub fn bytes(&self) -> usize {
        const OTHERS_BYTES: usize = 4096;
        let AuditTransaction { request, response, .. } = &self.entry.transaction;
        let bodies = [&request.body, &response.body].into_iter().flatten();
        bodies.map(|body| body.0.len()).sum::<usize>() + OTHERS_BYTES
    }
}
