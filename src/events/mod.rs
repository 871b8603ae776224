//! What happened: one struct for each kind of event, which makes the log line and the metric.
//!
//! `emit` never waits: lines go to a queue bounded in bytes, and what does not fit is counted.

mod access_log;
mod audit_log;
mod gen_ai;
pub mod kinds;
mod log;
mod log_queue;
mod metric_builder;
mod metrics;
mod rule_costs;
mod sleeper;
pub mod spans;
mod status_label;
mod zone_label;

use std::sync::{Arc, OnceLock};

use serde::Serialize;

use crate::clock::{Clock, rfc3339};
pub use access_log::{AccessEntry, AccessFormat, AccessLog, AccessLogSettings};
pub use audit_log::AuditLog;
pub use log::{Level, LogWriter};
pub use log_queue::LogQueue;
pub use metric_builder::MetricDescription;
pub use metrics::Metrics;
use model::SecurityRecord;
pub use rule_costs::{RuleCost, RuleCosts};
use spans::{CallSpan, CallSpanQueue, SpanQueue, TraceSpan};
pub use status_label::status_label;
pub use zone_label::ZoneLabel;

/// The way to emit events; clones share everything.
#[derive(Clone)]
pub struct Events {
    metrics: Arc<Metrics>,
    writer: Option<LogWriter>,
    level: Level,
    clock: Clock,
    /// Where security events are kept, once something keeps them.
    records: Arc<OnceLock<Box<dyn SecurityRecords>>>,
    /// Where requests are logged, if not with the others.
    access: Arc<OnceLock<AccessLog>>,
    /// Where spans wait to be sent, if they are.
    spans: Arc<OnceLock<SpanQueue>>,
    /// Where spans wait for collectors of gateways.
    call_spans: CallSpanQueue,
    /// Where lines wait to be sent, if they are.
    exported: Arc<OnceLock<LogQueue>>,
}

/// Keeps security events.
pub trait SecurityRecords: Send + Sync {
    /// Takes a record without waiting; false if it does not fit. `is_again` if it is a finding that was recorded before.
    fn add(&self, record: SecurityRecord, is_again: bool) -> bool;
}

/// Something that happened.
pub trait Event: Serialize {
    /// The value of `event` in its log line.
    const NAME: &'static str;
    /// What happened, for people.
    const MESSAGE: &'static str;
    const LEVEL: Level;

    /// Counts it.
    fn count(&self, metrics: &Metrics);

    /// What is kept of it, and whether it is a finding that was recorded before; `None` if it is no security event.
    fn record(&self) -> Option<(SecurityRecord, bool)> {
        None
    }

    /// What an access log says of it, if it is the end of a request.
    fn access(&self) -> Option<AccessEntry<'_>> {
        None
    }

    /// Whether this one has a log line at all.
    fn is_written(&self) -> bool {
        true
    }
}

#[derive(Serialize)]
struct Line<'a, E> {
    time: String,
    level: &'static str,
    msg: &'static str,
    event: &'static str,
    #[serde(flatten)]
    fields: &'a E,
}

impl Events {
    /// Events of `level` and worse go to `writer`.
    pub fn new(level: Level, writer: LogWriter, clock: Clock) -> Self {
        Self {
            metrics: Arc::new(Metrics::new()),
            writer: Some(writer),
            level,
            clock,
            records: Arc::default(),
            access: Arc::default(),
            spans: Arc::default(),
            call_spans: CallSpanQueue::default(),
            exported: Arc::default(),
        }
    }

    /// Events that are counted but written nowhere.
    pub fn silent() -> Self {
        let (level, clock) = (Level::Error, Clock::real());
        Self {
            metrics: Arc::new(Metrics::new()),
            writer: None,
            level,
            clock,
            records: Arc::default(),
            access: Arc::default(),
            spans: Arc::default(),
            call_spans: CallSpanQueue::default(),
            exported: Arc::default(),
        }
    }

    /// Has security events kept from now on. Only the first keeper is one.
    pub fn record_to(&self, records: impl SecurityRecords + 'static) {
        // A second one is let go.
        let _ = self.records.set(Box::new(records));
    }

    pub fn metrics(&self) -> &Metrics {
        if let Some(writer) = &self.writer {
            self.metrics.log_lines_dropped.inc_by(writer.take_lost());
        }
        if let Some(access) = self.access.get() {
            self.metrics.log_lines_dropped.inc_by(access.take_lost());
        }
        &self.metrics
    }

    /// Whether events of this level are written; others are only counted.
    pub fn writes(&self, level: Level) -> bool {
        self.writer.is_some() && level <= self.level
    }

    pub fn emit<E: Event>(&self, event: &E) {
        event.count(&self.metrics);
        if let Some(records) = self.records.get()
            && let Some((record, is_again)) = event.record()
        {
            let record = SecurityRecord { datetime: rfc3339(self.clock.now()), ..record };
            if !records.add(record, is_again) {
                self.metrics.security_events_dropped.inc();
            }
        }
        let text = || {
            let line = Line {
                time: rfc3339(self.clock.now()),
                level: E::LEVEL.word(),
                msg: E::MESSAGE,
                event: E::NAME,
                fields: event,
            };
            // A struct of strings and numbers always serialises.
            let mut text = serde_json::to_vec(&line).unwrap_or_default();
            text.push(b'\n');
            text
        };
        if let Some(access) = self.access.get()
            && let Some(entry) = event.access()
        {
            if !access.write(&entry, self.clock.now(), text) {
                self.metrics.log_lines_dropped.inc();
            }
            return;
        }
        let is_written = E::LEVEL <= self.level && event.is_written();
        let Some(writer) = self.writer.as_ref().filter(|_| is_written) else { return };
        let text = text();
        if self.exported.get().is_some() {
            self.export_line(text.clone());
        }
        if !writer.write_line(text) {
            self.metrics.log_lines_dropped.inc();
        }
    }

    /// Has requests written to a log of their own from now on. Only the first is one.
    pub fn log_requests_to(&self, access: AccessLog) {
        // A second one is let go.
        let _ = self.access.set(access);
    }

    /// Has spans kept for a collector from now on. Only the first queue is one.
    pub fn trace_to(&self, queue: SpanQueue) {
        // A second one is let go.
        let _ = self.spans.set(queue);
    }

    /// Has lines of the log sent to a collector too.
    pub fn export_to(&self, queue: LogQueue) {
        // A second one is let go.
        let _ = self.exported.set(queue);
    }

    /// Where lines for the collector wait, if any do.
    pub fn exported(&self) -> Option<&LogQueue> {
        self.exported.get()
    }

    /// Keeps a line for the collector, if there is one.
    pub fn export_line(&self, line: Vec<u8>) {
        let Some(queue) = self.exported.get() else { return };
        if !queue.push(line) {
            self.metrics.exported_lines.with_label_values(&["dropped"]).inc();
        }
    }

    /// Where spans go, if anywhere.
    pub fn spans(&self) -> Option<&SpanQueue> {
        self.spans.get()
    }

    /// Keeps a span for the collectors of its gateway.
    pub fn call_span(&self, span: CallSpan) {
        let receivers = span.collectors.len() as u64;
        if !self.call_spans.push(span) {
            self.metrics.call_spans.with_label_values(&["dropped"]).inc_by(receivers);
        }
    }

    /// Where spans for collectors of gateways wait.
    pub fn call_spans(&self) -> &CallSpanQueue {
        &self.call_spans
    }

    /// Keeps a span for the collector, if there is one and it is sampled.
    pub fn span(&self, span: TraceSpan) {
        let Some(queue) = self.spans.get().filter(|_| span.context.is_sampled) else { return };
        if !queue.push(span) {
            self.metrics.spans.with_label_values(&["dropped"]).inc();
        }
    }

    /// The log of requests, if they have one of their own.
    pub fn access_log(&self) -> Option<&AccessLog> {
        self.access.get()
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Events({:?})", self.level)
    }
}
