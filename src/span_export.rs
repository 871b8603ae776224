//! Sends spans to a collector: OTLP over HTTP, as JSON.

use std::time::Duration;

use serde_json::{Value, json};

use crate::clock::Clock;
use crate::conf::TracingSettings;
use crate::events::Events;
use crate::events::kinds::ServiceFailed;
use crate::events::spans::{SpanQueue, TraceSpan};
use crate::snapshot::SnapshotHandle;
use crate::upstream::webhook::Webhook;

/// How long spans gather.
const TICK: Duration = Duration::from_secs(1);
/// Most spans in a message.
const BATCH: usize = 512;
/// How long the last spans are waited for when the edge stops.
const LAST: Duration = Duration::from_secs(2);

/// Sends the spans of a queue. Clones share the queue.
#[derive(Clone)]
pub struct SpanExport {
    pub queue: SpanQueue,
    pub settings: TracingSettings,
    pub handle: SnapshotHandle,
    pub events: Events,
    pub clock: Clock,
}

impl SpanExport {
    /// Sends spans for as long as it is polled.
    pub async fn run(&self) {
        let mut is_failing = false;
        loop {
            tokio::time::sleep(TICK).await;
            match self.send_waiting().await {
                Ok(()) => is_failing = false,
                Err(error) if !std::mem::replace(&mut is_failing, true) => {
                    self.events.emit(&ServiceFailed { service: "tracing", error });
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
            let spans = self.queue.take(BATCH);
            if spans.is_empty() {
                return Ok(());
            }
            if let Err(error) = self.send(&spans).await {
                // They are sent again, as far as there is room beside new ones.
                spans.into_iter().for_each(|span| self.events.span(span));
                return Err(error);
            }
        }
    }

    async fn send(&self, spans: &[TraceSpan]) -> Result<(), String> {
        let secret = self.settings.authorization.as_ref();
        let message = Webhook {
            url: self.settings.url.clone(),
            secret: secret.map(|secret| ("authorization", secret.expose().to_owned())),
            body: body(spans, &self.settings.service_name).to_string(),
            may_be_private: true,
        };
        let snapshot = self.handle.load();
        let sent = message.send(&snapshot.upstream, self.clock.unix()).await;
        let outcome = if sent.is_ok() { "sent" } else { "failed" };
        self.events.metrics().spans.with_label_values(&[outcome]).inc_by(spans.len() as u64);
        sent
    }
}

/// An `ExportTraceServiceRequest`.
fn body(spans: &[TraceSpan], service_name: &str) -> Value {
    let attribute = |name: &str, value: &str| json!({"key": name, "value": {"stringValue": value}});
    let version = env!("CARGO_PKG_VERSION");
    json!({"resourceSpans": [{
        "resource": {"attributes": [attribute("service.name", service_name), attribute("service.version", version)]},
        "scopeSpans": [{
            "scope": {"name": "portcullis", "version": version},
            "spans": spans.iter().map(TraceSpan::otlp).collect::<Vec<_>>(),
        }],
    }]})
}
