//! Sends spans of calls to the collectors of their gateways. None of them waits for another: each has its own spans, and one
//! message under way.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::{BATCH, LAST, TICK, resource, scope, spans_message};
use crate::clock::Clock;
use crate::events::Events;
use crate::events::kinds::ServiceFailed;
use crate::events::spans::{CallSpan, CompiledCollector, MAX_HELD_BYTES};
use crate::snapshot::SnapshotHandle;
use crate::upstream::webhook::Webhook;

/// Most messages that are under way.
const MAX_MESSAGES: usize = 64;
/// Most bytes of spans in a message, and those that wait for one collector.
const MESSAGE_BYTES: usize = 1 << 20;
const MAX_WAITING_BYTES: usize = MAX_HELD_BYTES / 8;
/// Failures in a row after which a collector's spans are let go.
const MAX_FAILURES: u32 = 5;
/// Most ticks that a collector is left alone after a failure.
const MAX_REST: u64 = 64;

/// What tells collectors apart: the gateway, the place in its list of collectors, and the URL.
type CollectorId = (String, usize, String);

/// Sends spans of calls. Clones share what waits.
#[derive(Clone)]
pub struct CallSpanExport {
    pub service_name: String,
    pub handle: SnapshotHandle,
    pub events: Events,
    pub clock: Clock,
    pub drains: Drains,
}

/// How the task that ends the process has the task that sends spans send the last ones. Clones share both signals.
#[derive(Clone, Debug, Default)]
pub struct Drains {
    /// All spans that wait are to be sent now.
    asked: Arc<Notify>,
    /// Nothing is under way any more.
    done: Arc<Notify>,
}

/// What waits for a collector.
struct Backlog {
    /// As it was when the last span came.
    collector: Arc<CompiledCollector>,
    spans: VecDeque<Arc<CallSpan>>,
    bytes: usize,
    is_sending: bool,
    /// In a row.
    failures: u32,
    /// Nothing is sent to it before this tick.
    rests_until: u64,
}

/// A message that was sent, and what came of it.
struct Sent {
    to: CollectorId,
    spans: Vec<Arc<CallSpan>>,
    result: Result<(), String>,
}

/// All that waits, and what is under way.
#[derive(Default)]
struct Outbox {
    waiting: BTreeMap<CollectorId, Backlog>,
    messages: JoinSet<Sent>,
    /// Ticks so far.
    now: u64,
}

impl Backlog {
    fn new(collector: &Arc<CompiledCollector>) -> Self {
        Self {
            collector: Arc::clone(collector),
            spans: VecDeque::new(),
            bytes: 0,
            is_sending: false,
            failures: 0,
            rests_until: 0,
        }
    }

    /// Adds a span at the end. Returns how many of the oldest had to go.
    fn push(&mut self, span: Arc<CallSpan>) -> u64 {
        self.bytes += span.bytes;
        self.spans.push_back(span);
        // One that does not answer takes no room from those that do.
        let most = if self.failures < MAX_FAILURES { MAX_WAITING_BYTES } else { MESSAGE_BYTES };
        let mut dropped = 0;
        while self.bytes > most && self.pop().is_some() {
            dropped += 1;
        }
        dropped
    }

    fn pop(&mut self) -> Option<Arc<CallSpan>> {
        let span = self.spans.pop_front()?;
        self.bytes -= span.bytes;
        Some(span)
    }

    /// The spans of the next message.
    fn batch(&mut self) -> Vec<Arc<CallSpan>> {
        let (mut spans, mut bytes) = (Vec::new(), 0);
        while spans.len() < BATCH
            && (spans.is_empty()
                || self.spans.front().is_some_and(|next| bytes + next.bytes <= MESSAGE_BYTES))
        {
            let Some(span) = self.pop() else { break };
            bytes += span.bytes;
            spans.push(span);
        }
        spans
    }

    /// Notes that a message was not taken; true if it is the first in a row. Returns the spans that had to go, too.
    fn failed(&mut self, spans: Vec<Arc<CallSpan>>, now: u64) -> (bool, u64) {
        self.failures = self.failures.saturating_add(1);
        self.rests_until = now + (1 << self.failures.min(MAX_REST.ilog2()));
        if self.failures > MAX_FAILURES {
            return (false, spans.len() as u64);
        }
        for span in spans.into_iter().rev() {
            self.bytes += span.bytes;
            self.spans.push_front(span);
        }
        (self.failures == 1, 0)
    }
}

impl CallSpanExport {
    /// Sends for as long as it is polled; it never ends.
    pub async fn run(&self) {
        let mut outbox = Outbox::default();
        let mut is_draining = false;
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {
                    outbox.now += 1;
                    self.gather(&mut outbox);
                }
                () = self.drains.asked.notified() => {
                    is_draining = true;
                    self.gather(&mut outbox);
                }
                Some(sent) = outbox.messages.join_next() => {
                    if let Ok(sent) = sent {
                        self.settle(&mut outbox, sent);
                    }
                }
            }
            self.start(&mut outbox);
            if is_draining && outbox.messages.is_empty() {
                is_draining = false;
                self.drains.done.notify_one();
            }
        }
    }

    /// Waits until [`CallSpanExport::run`] has sent what it has, if the collectors take it at once.
    pub async fn finish(&self) {
        self.drains.asked.notify_one();
        // What slow collectors do not take is lost.
        let _ = tokio::time::timeout(LAST, self.drains.done.notified()).await;
    }

    /// Takes what has come, for each of its collectors.
    fn gather(&self, outbox: &mut Outbox) {
        let mut dropped = 0;
        while let Some(span) = self.events.call_spans().pop() {
            let span = Arc::<CallSpan>::from(span);
            for (nth, collector) in span.collectors.iter().enumerate() {
                let id = (span.gateway.clone(), nth, collector.url.clone());
                let waiting = outbox.waiting.entry(id).or_insert_with(|| Backlog::new(collector));
                waiting.collector = Arc::clone(collector);
                dropped += waiting.push(Arc::clone(&span));
            }
        }
        self.count("dropped", dropped);
        let now = outbox.now;
        outbox.waiting.retain(|_, waiting| {
            waiting.is_sending || !waiting.spans.is_empty() || waiting.rests_until > now
        });
    }

    /// Sends a message to each collector that has none under way.
    fn start(&self, outbox: &mut Outbox) {
        let Outbox { waiting, messages, now } = outbox;
        let due = waiting.iter_mut().filter(|(_, waiting)| {
            !waiting.is_sending && !waiting.spans.is_empty() && waiting.rests_until <= *now
        });
        for (id, waiting) in due.take(MAX_MESSAGES.saturating_sub(messages.len())) {
            let spans = waiting.batch();
            waiting.is_sending = true;
            let message = Webhook {
                url: waiting.collector.url.clone(),
                fields: waiting.collector.fields.clone(),
                body: self.body(&spans),
                may_be_private: waiting.collector.may_be_private,
            };
            let (to, snapshot, now) = (id.clone(), self.handle.load(), self.clock.unix());
            messages.spawn(async move {
                let result = message.send(&snapshot.upstream, now).await;
                Sent { to, spans, result }
            });
        }
    }

    fn body(&self, spans: &[Arc<CallSpan>]) -> String {
        let spans = spans.iter().map(|span| &span.span);
        spans_message(spans, &resource(&self.service_name), &scope()).to_string()
    }

    fn settle(&self, outbox: &mut Outbox, Sent { to, spans, result }: Sent) {
        let Some(waiting) = outbox.waiting.get_mut(&to) else { return };
        waiting.is_sending = false;
        match result {
            Ok(()) => {
                waiting.failures = 0;
                self.count("sent", spans.len() as u64);
            }
            Err(error) => {
                let (is_first, dropped) = waiting.failed(spans, outbox.now);
                self.count("dropped", dropped);
                if is_first {
                    let error = format!("spans of the gateway `{}`: {error}", to.0);
                    self.events.emit(&ServiceFailed { service: "call spans", error });
                }
            }
        }
    }

    fn count(&self, outcome: &str, spans: u64) {
        self.events.metrics().call_spans.with_label_values(&[outcome]).inc_by(spans);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::events::spans::{SpanKind, TraceContext, TraceSpan};

    fn span(bytes: usize) -> Arc<CallSpan> {
        let context = TraceContext { trace: 1, parent: 0, span: 1, is_sampled: true };
        let mut span = TraceSpan::new(context, SpanKind::Client, Duration::ZERO, Duration::ZERO);
        span.long_text("a", &"x".repeat(bytes));
        Arc::new(CallSpan::new(span, "acme/main".to_owned(), Arc::default()))
    }

    fn waiting() -> Backlog {
        let url = "https://spans.example/v1/traces".to_owned();
        Backlog::new(&Arc::new(CompiledCollector { url, fields: BTreeMap::new(), may_be_private: false }))
    }

    #[test]
    fn messages_have_bounds_in_spans_and_bytes() {
        let mut waiting = waiting();
        (0..BATCH + 1).for_each(|_| assert_eq!(waiting.push(span(1)), 0));
        assert_eq!((waiting.batch().len(), waiting.batch().len(), waiting.bytes), (BATCH, 1, 0));
        for bytes in [700 << 10, 700 << 10, 2 << 20] {
            waiting.push(span(bytes));
        }
        let sizes: Vec<usize> =
            std::iter::from_fn(|| Some(waiting.batch().len()).filter(|n| *n > 0)).collect();
        assert_eq!(sizes, [1, 1, 1], "one that is longer goes alone");
    }

    #[test]
    fn one_that_fails_rests_longer_each_time_and_then_loses_its_spans() {
        let mut waiting = waiting();
        let mut rests = Vec::new();
        for failure in 1..=8 {
            waiting.push(span(1));
            let batch = waiting.batch();
            let held = batch.len() as u64;
            let (is_first, dropped) = waiting.failed(batch, 100);
            assert_eq!((is_first, dropped), (failure == 1, if failure > 5 { held } else { 0 }), "{failure}");
            rests.push(waiting.rests_until - 100);
        }
        assert_eq!(rests, [2, 4, 8, 16, 32, 64, 64, 64]);
        // What comes then waits within a smaller bound.
        let dropped: u64 = (0..20).map(|_| waiting.push(span(100 << 10))).sum();
        assert!(dropped >= 10 && waiting.bytes <= MESSAGE_BYTES, "{dropped}");
    }
}
