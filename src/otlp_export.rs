//! Sends spans and lines of the log to a collector: OTLP over HTTP, as JSON.

pub mod call_spans;

use std::time::Duration;

use serde_json::{Value, json};

use self::call_spans::CallSpanExport;
use crate::clock::Clock;
use crate::conf::TracingSettings;
use crate::events::kinds::ServiceFailed;
use crate::events::spans::{SpanQueue, TraceSpan};
use crate::events::{Events, LogQueue};
use crate::snapshot::SnapshotHandle;
use crate::upstream::webhook::Webhook;

/// How long things gather.
const TICK: Duration = Duration::from_secs(1);
/// Most things in a message.
const BATCH: usize = 512;
/// How long the last ones are waited for when the edge stops.
const LAST: Duration = Duration::from_secs(2);

/// What waits to be sent, of one kind.
pub trait OtlpQueue: Clone + Send + Sync {
    type Item: Send + Sync;
    /// What is said to fail if a collector does not take it.
    const SERVICE: &'static str;

    /// Where it goes; `None` if it goes nowhere.
    fn url(settings: &TracingSettings) -> Option<&str>;
    /// Removes at most `most`, the oldest first.
    fn take(&self, most: usize) -> Vec<Self::Item>;
    /// Puts one back that could not be sent, if there is room beside new ones.
    fn put_back(item: Self::Item, events: &Events);
    /// The request to the collector: `resource` and `scope` are those of the process.
    fn message(items: &[Self::Item], resource: Value, scope: Value) -> Value;
    /// Adds `items` to the metric of an outcome.
    fn count(events: &Events, outcome: &str, items: u64);
}

impl OtlpQueue for SpanQueue {
    type Item = TraceSpan;
    const SERVICE: &'static str = "tracing";

    fn url(settings: &TracingSettings) -> Option<&str> {
        Some(&settings.url)
    }

    fn take(&self, most: usize) -> Vec<TraceSpan> {
        Self::take(self, most)
    }

    fn put_back(item: TraceSpan, events: &Events) {
        events.span(item);
    }

    fn message(items: &[TraceSpan], resource: Value, scope: Value) -> Value {
        spans_message(items.iter(), &resource, &scope)
    }

    fn count(events: &Events, outcome: &str, items: u64) {
        events.metrics().spans.with_label_values(&[outcome]).inc_by(items);
    }
}

/// Spans as a collector takes them.
fn spans_message<'s>(spans: impl Iterator<Item = &'s TraceSpan>, resource: &Value, scope: &Value) -> Value {
    let spans: Vec<Value> = spans.map(TraceSpan::otlp).collect();
    json!({"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": spans}]}]})
}

impl OtlpQueue for LogQueue {
    type Item = Vec<u8>;
    const SERVICE: &'static str = "log export";

    fn url(settings: &TracingSettings) -> Option<&str> {
        settings.logs_url.as_deref()
    }

    fn take(&self, most: usize) -> Vec<Vec<u8>> {
        Self::take(self, most)
    }

    fn put_back(item: Vec<u8>, events: &Events) {
        events.export_line(item);
    }

    fn message(items: &[Vec<u8>], resource: Value, scope: Value) -> Value {
        let records: Vec<Value> = items.iter().map(|line| Self::otlp(line)).collect();
        json!({"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": records}]}]})
    }

    fn count(events: &Events, outcome: &str, items: u64) {
        events.metrics().exported_lines.with_label_values(&[outcome]).inc_by(items);
    }
}

/// The resource that spans and lines are of: this process.
fn resource(service_name: &str) -> Value {
    let attribute = |name: &str, value: &str| json!({"key": name, "value": {"stringValue": value}});
    let version = env!("CARGO_PKG_VERSION");
    json!({"attributes": [attribute("service.name", service_name), attribute("service.version", version)]})
}

/// The scope that spans and lines are of.
fn scope() -> Value {
    json!({"name": "portcullis", "version": env!("CARGO_PKG_VERSION")})
}

/// Sends what waits in a queue. Clones share the queue.
#[derive(Clone)]
pub struct OtlpExport<Q> {
    pub queue: Q,
    pub settings: TracingSettings,
    pub handle: SnapshotHandle,
    pub events: Events,
    pub clock: Clock,
}

impl<Q: OtlpQueue> OtlpExport<Q> {
    /// Sends for as long as it is polled.
    pub async fn run(&self) {
        let mut is_failing = false;
        loop {
            tokio::time::sleep(TICK).await;
            match self.send_waiting().await {
                Ok(()) => is_failing = false,
                Err(error) if !std::mem::replace(&mut is_failing, true) => {
                    self.events.emit(&ServiceFailed { service: Q::SERVICE, error });
                }
                Err(_) => {}
            }
        }
    }

    /// Sends what waits when the edge stops, if the collector takes it at once.
    pub async fn finish(&self) {
        // What a slow collector does not take is lost.
        let _ = tokio::time::timeout(LAST, self.send_waiting()).await;
    }

    async fn send_waiting(&self) -> Result<(), String> {
        loop {
            let items = self.queue.take(BATCH);
            if items.is_empty() {
                return Ok(());
            }
            if let Err(error) = self.send(&items).await {
                items.into_iter().for_each(|item| Q::put_back(item, &self.events));
                return Err(error);
            }
        }
    }

    async fn send(&self, items: &[Q::Item]) -> Result<(), String> {
        let Some(url) = Q::url(&self.settings) else { return Ok(()) };
        let authorization = self.settings.authorization.clone();
        let message = Webhook {
            url: url.to_owned(),
            fields: authorization.into_iter().map(|secret| ("authorization".to_owned(), secret)).collect(),
            body: Q::message(items, resource(&self.settings.service_name), scope()).to_string(),
            may_be_private: true,
        };
        let snapshot = self.handle.load();
        let sent = message.send(&snapshot.upstream, self.clock.unix()).await;
        Q::count(&self.events, if sent.is_ok() { "sent" } else { "failed" }, items.len() as u64);
        sent
    }
}

/// What sends spans, what sends lines of the log, if anything does, and what sends spans of calls to collectors of gateways.
#[derive(Clone)]
pub struct OtlpExports {
    pub spans: Option<OtlpExport<SpanQueue>>,
    pub lines: Option<OtlpExport<LogQueue>>,
    pub calls: CallSpanExport,
}

impl OtlpExports {
    /// Sends all of them for as long as it is polled; it never ends.
    pub async fn run(&self) {
        let spans = async {
            if let Some(export) = &self.spans {
                export.run().await;
            }
        };
        let lines = async {
            if let Some(export) = &self.lines {
                export.run().await;
            }
        };
        tokio::join!(spans, lines, self.calls.run());
        std::future::pending::<()>().await;
    }

    /// Sends what waits when the edge stops.
    pub async fn finish(&self) {
        if let Some(export) = &self.spans {
            export.finish().await;
        }
        if let Some(export) = &self.lines {
            export.finish().await;
        }
        self.calls.finish().await;
    }
}
