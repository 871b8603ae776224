//! Spans of requests and AI calls, for tools that show where time goes: W3C trace context in, OTLP out.
//!
//! Nothing waits for a span: those of sampled requests go to a bounded queue, and what does not fit is counted.

mod call_queue;
mod context;
mod span;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_queue::ArrayQueue;

pub use call_queue::{CallSpan, CallSpanQueue, Collectors, CompiledCollector, MAX_HELD_BYTES};
pub use context::TraceContext;
pub use span::{AttributeValue, SpanKind, TraceSpan};

/// Most spans that wait to be sent.
const MAX_WAITING: usize = 8_192;

/// Spans that wait to be sent; clones share them.
#[derive(Clone, Debug)]
pub struct SpanQueue {
    waiting: Arc<ArrayQueue<TraceSpan>>,
    requests: Arc<AtomicU64>,
    sample_every: u64,
}

impl SpanQueue {
    /// An empty queue that samples one of every `sample_every` requests.
    pub fn new(sample_every: u64) -> Self {
        let waiting = Arc::new(ArrayQueue::new(MAX_WAITING));
        Self { waiting, requests: Arc::default(), sample_every: sample_every.max(1) }
    }

    /// Starts the span of a request; `None` if the system has no random numbers. `traceparent` is the field that the request
    /// has. If it says that the trace is sampled, this request is too, but only if `is_trusted`.
    pub fn begin(&self, traceparent: Option<&[u8]>, is_trusted: bool) -> Option<TraceContext> {
        let is_next = self.requests.fetch_add(1, Ordering::Relaxed).is_multiple_of(self.sample_every);
        let mut random = [0; 24];
        getrandom::fill(&mut random).ok()?;
        let caller = traceparent.and_then(TraceContext::parse);
        let is_sampled = is_next || is_trusted && caller.is_some_and(|caller| caller.is_sampled);
        Some(TraceContext::new(caller, random, is_sampled))
    }

    /// Takes a span; false if there is no room.
    pub fn push(&self, span: TraceSpan) -> bool {
        self.waiting.push(span).is_ok()
    }

    /// Removes at most `most` spans from the queue, the oldest first.
    pub fn take(&self, most: usize) -> Vec<TraceSpan> {
        std::iter::from_fn(|| self.waiting.pop()).take(most).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const TOLD: &[u8] = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn one_in_so_many_requests_is_sampled_and_those_that_a_trusted_peer_names() {
        let queue = SpanQueue::new(3);
        let sampled = |told, is_trusted| queue.begin(told, is_trusted).unwrap().is_sampled;
        let untold: Vec<bool> = (0..7).map(|_| sampled(None, false)).collect();
        assert_eq!(untold, [true, false, false, true, false, false, true]);
        assert_eq!([sampled(Some(TOLD), false), sampled(Some(TOLD), true)], [false, true]);
    }

    #[test]
    fn what_does_not_fit_is_not_taken() {
        let queue = SpanQueue::new(1);
        let span = |context| TraceSpan::new(context, SpanKind::Server, Duration::ZERO, Duration::ZERO);
        for _ in 0..MAX_WAITING {
            assert!(queue.push(span(queue.begin(None, false).unwrap())));
        }
        assert!(!queue.push(span(queue.begin(None, false).unwrap())));
        assert_eq!((queue.take(10).len(), queue.take(usize::MAX).len()), (10, MAX_WAITING - 10));
    }
}
