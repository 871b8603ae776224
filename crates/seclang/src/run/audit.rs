//! The record of a transaction for the audit log.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::report::Hit;
use super::transaction::Transaction;
use crate::audit::{
    AuditBody, AuditEntry, AuditFields, AuditMode, AuditProducer, AuditRecord, AuditRequest, AuditResponse,
    AuditTransaction,
};
use crate::data::Pair;
use crate::data::Text;
use crate::ir::EngineMode;
use body::head::ResponseHead;

/// As much of a value is in a message.
const MAX_VALUE_BYTES: usize = 512;

const PRODUCER: &str = concat!("Portcullis ", env!("CARGO_PKG_VERSION"));

impl Transaction {
    /// Whether rule files ask for an audit log.
    pub fn has_audit_log(&self) -> bool {
        self.plan.program.audit.is_some()
    }

    /// The record for the audit log, if the rule files ask for one; `written` is the response that the client got.
    pub fn audit_record(&mut self, written: &ResponseHead<'_>) -> Option<AuditRecord> {
        // Rules may not have seen it.
        self.response_head(written);
        let (status, audit) = (written.status, self.plan.program.audit.as_ref()?);
        let settings = &audit.settings;
        let is_relevant = || {
            let status = status.to_string();
            settings.relevant_status.as_ref().is_some_and(|pattern| pattern.is_match(status.as_bytes()))
        };
        let messages = self.audit_messages();
        if settings.mode == AuditMode::RelevantOnly && messages.is_empty() && !is_relevant() {
            return None;
        }
        let data = &self.data.message;
        let seconds = i64::try_from(self.data.now.as_secs()).unwrap_or(0);
        let received = Timestamp::from_second(seconds).unwrap_or_default();
        let protocol = self.lossy(data.protocol);
        let version = protocol.rsplit('/').next().and_then(|version| version.parse().ok());
        let number = |text: Text| self.lossy(text).parse().unwrap_or(0);
        let transaction = AuditTransaction {
            client_ip: self.lossy(data.remote_addr),
            time_stamp: received.strftime("%a %b %e %H:%M:%S %Y").to_string(),
            server_id: "portcullis",
            // The engine does not know the port of the client.
            client_port: 0,
            host_ip: self.lossy(data.server_addr),
            host_port: number(data.server_port),
            unique_id: self.lossy(data.unique_id),
            request: AuditRequest {
                method: self.lossy(data.method),
                http_version: version.unwrap_or(0.0),
                uri: self.lossy(data.uri_raw),
                body: (settings.has('C') || settings.has('I')).then(|| AuditBody(self.data.buffers.body())),
                headers: settings.has('B').then(|| self.fields(&data.headers)),
            },
            response: AuditResponse {
                body: settings.has('E').then(|| AuditBody(self.data.buffers.response())),
                http_code: status,
                headers: settings.has('F').then(|| self.fields(&data.response_headers)),
            },
            producer: settings.has('H').then(|| AuditProducer {
                modsecurity: PRODUCER,
                connector: PRODUCER,
                secrules_engine: match self.controls.engine {
                    EngineMode::On => "Enabled",
                    EngineMode::DetectionOnly => "DetectionOnly",
                    EngineMode::Off => "Disabled",
                },
                components: self.plan.program.components.clone(),
            }),
            messages: settings.has('H').then_some(messages),
        };
        let is_concurrent = audit.files.storage.is_some();
        Some(AuditRecord {
            files: Arc::clone(&audit.files),
            entry: AuditEntry { transaction },
            received: self.data.now,
            summary: is_concurrent.then(|| self.audit_summary(received, status)),
        })
    }

    /// A request in the line of a concurrent log.
    fn audit_summary(&self, received: Timestamp, status: u16) -> String {
        let data = &self.data.message;
        // One line, whose quotes stay pairs.
        let plain = |text: Text| {
            let text = self.lossy(text).replace(|c: char| c.is_control() || c == '"', " ");
            if text.is_empty() { "-".to_owned() } else { text }
        };
        let field = |name| plain(data.header_text(name, &self.data.buffers));
        format!(
            "{} {} - {} \"{} {} {}\" {status} {} {} \"{}\"",
            field(b"host"),
            plain(data.remote_addr),
            received.strftime("[%d/%b/%Y:%H:%M:%S +0000]"),
            plain(data.method),
            plain(data.uri_raw),
            plain(data.protocol),
            data.response_body.len(),
            field(b"referer"),
            field(b"user-agent"),
        )
    }

    /// The rules with `auditlog` that matched.
    fn audit_messages(&self) -> Vec<Value> {
        let root = |hit: &Hit| self.plan.program.roots.get(hit.root);
        let audited = self.verdict.hits.iter().filter(|hit| root(hit).is_some_and(|root| root.audit));
        let message = |hit: &Hit| {
            let (root, found) = (root(hit)?, hit.report(self)?);
            let value = found.values.last().map_or(&[][..], |last| &last.value);
            let value = String::from_utf8_lossy(value.get(..MAX_VALUE_BYTES).unwrap_or(value));
            // As `folder/file.conf:12:1`.
            let mut place = found.place.rsplitn(3, ':').skip(1);
            let (line, file) = (place.next().unwrap_or_default(), place.next().unwrap_or_default());
            Some(json!({
                "message": found.message,
                "details": {
                    "match": format!(
                        "Matched variable `{}' (Value: `{value}' )",
                        found.variable(),
                    ),
                    "reference": "",
                    "ruleId": found.rule.to_string(),
                    "file": file,
                    "lineNumber": line,
                    "data": found.data.chars().take(MAX_VALUE_BYTES).collect::<String>(),
                    "severity": found.severity.unwrap_or(0).to_string(),
                    "ver": root.meta.version,
                    "rev": "",
                    "tags": found.tags,
                    "maturity": "0",
                    "accuracy": "0",
                },
            }))
        };
        audited.filter_map(message).collect()
    }

    fn fields(&self, pairs: &[Pair]) -> AuditFields {
        AuditFields(pairs.iter().map(|pair| (self.lossy(pair.key), self.lossy(pair.value))).collect())
    }

    fn lossy(&self, text: Text) -> String {
        String::from_utf8_lossy(self.data.bytes(text)).into_owned()
    }
}
