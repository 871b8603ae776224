//! The bytes of all bodies that are held, of requests and responses, under one limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::events::Events;

/// How many bytes are held. Clones count together.
#[derive(Clone)]
pub(super) struct HeldBodies {
    bytes: Arc<AtomicUsize>,
    events: Events,
}

impl HeldBodies {
    pub(super) fn new(events: Events) -> Self {
        Self { bytes: Arc::default(), events }
    }

    /// A share for one body, which gives back what it took when it is dropped.
    pub(super) fn share(&self) -> Share {
        Share { held: Arc::clone(&self.bytes), taken: 0 }
    }

    /// Sets the metric to how many bytes are held now.
    pub(super) fn record(&self) {
        let held = self.bytes.load(Ordering::Relaxed);
        self.events.metrics().held_bodies.set(i64::try_from(held).unwrap_or(i64::MAX));
    }
}

/// A share of the bytes that all held bodies may take together.
pub(super) struct Share {
    held: Arc<AtomicUsize>,
    taken: usize,
}

impl Share {
    /// Takes more; false if that would pass `max`.
    pub(super) fn take(&mut self, bytes: usize, max: usize) -> bool {
        if self.held.fetch_add(bytes, Ordering::Relaxed) + bytes > max {
            self.held.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        self.taken += bytes;
        true
    }

    /// Gives a part of it back.
    pub(super) fn put_back(&mut self, bytes: usize) {
        let bytes = bytes.min(self.taken);
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        self.taken -= bytes;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.put_back(self.taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_given_back() {
        let held = HeldBodies::new(Events::silent());
        let mut first = held.share();
        assert!(first.take(60, 100) && !first.take(50, 100));
        let mut second = held.share();
        assert!(second.take(40, 100) && !second.take(1, 100));
        drop(first);
        assert!(second.take(60, 100));
        drop(second);
        assert_eq!(held.bytes.load(Ordering::Relaxed), 0);
    }
}
