//! Spans of calls that wait for the collectors of their gateways.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_queue::ArrayQueue;
use model::Secret;

use super::TraceSpan;

/// Most spans that wait to be given to their collectors.
const MAX_WAITING: usize = 8_192;
/// Most bytes of spans that are held, whether they wait or are being sent.
pub const MAX_HELD_BYTES: usize = 32 << 20;

/// A collector of a gateway, compiled.
#[derive(Debug)]
pub struct CompiledCollector {
    /// With a path.
    pub url: String,
    /// Fields of each message.
    pub fields: BTreeMap<String, Secret>,
    pub may_be_private: bool,
}

/// The collectors of a gateway.
pub type Collectors = Arc<[Arc<CompiledCollector>]>;

/// A span, and who gets it.
#[derive(Debug)]
pub struct CallSpan {
    pub span: TraceSpan,
    /// `account/gateway`
    pub gateway: String,
    pub collectors: Collectors,
    pub bytes: usize,
    held: Option<Held>,
}

/// Bytes that are held for as long as this is.
#[derive(Debug)]
struct Held {
    bytes: usize,
    of_all: Arc<AtomicUsize>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.of_all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl CallSpan {
    pub fn new(span: TraceSpan, gateway: String, collectors: Collectors) -> Self {
        let bytes = span.size() + gateway.len();
        Self { span, gateway, collectors, bytes, held: None }
    }
}

/// Spans of calls that wait; clones share them.
#[derive(Clone, Debug)]
pub struct CallSpanQueue {
    waiting: Arc<ArrayQueue<Box<CallSpan>>>,
    held_bytes: Arc<AtomicUsize>,
}

impl Default for CallSpanQueue {
    fn default() -> Self {
        Self { waiting: Arc::new(ArrayQueue::new(MAX_WAITING)), held_bytes: Arc::default() }
    }
}

impl CallSpanQueue {
    /// Takes a span; false if there is no room.
    pub fn push(&self, mut span: CallSpan) -> bool {
        let bytes = span.bytes;
        let before = self.held_bytes.fetch_add(bytes, Ordering::Relaxed);
        // From here on they are given back when the span is dropped.
        span.held = Some(Held { bytes, of_all: Arc::clone(&self.held_bytes) });
        before + bytes <= MAX_HELD_BYTES && self.waiting.push(Box::new(span)).is_ok()
    }

    /// Removes the oldest span from the queue.
    pub fn pop(&self) -> Option<Box<CallSpan>> {
        self.waiting.pop()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::events::spans::{SpanKind, TraceContext};

    fn span(text: &str) -> CallSpan {
        let context = TraceContext { trace: 1, parent: 0, span: 1, is_sampled: true };
        let mut span = TraceSpan::new(context, SpanKind::Client, Duration::ZERO, Duration::ZERO);
        span.long_text("a", text);
        CallSpan::new(span, "acme/main".to_owned(), Arc::default())
    }

    #[test]
    fn what_is_held_has_a_bound_in_bytes_and_in_spans() {
        let queue = CallSpanQueue::default();
        let long = "x".repeat(1 << 20);
        let mut held: Vec<_> = std::iter::from_fn(|| queue.push(span(&long)).then(|| queue.pop())).collect();
        assert_eq!(held.len(), 31);
        // One that goes makes room.
        held.pop();
        assert!(queue.push(span(&long)) && !queue.push(span(&long)));
        held.clear();
        while queue.pop().is_some() {}
        assert_eq!(queue.held_bytes.load(Ordering::Relaxed), 0);
        assert_eq!((0..10_000).filter(|_| queue.push(span(""))).count(), MAX_WAITING);
    }
}
