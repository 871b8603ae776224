//! The counters of all limits, bounded in memory.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use model::{Limit, Technique};

/// Counters of one limit, for as many values.
pub const MAX_COUNTERS_OF_LIMIT: usize = 10_000;
/// Counters that are looked at with each call, to let those go that no longer matter.
const LOOKS: usize = 2;

/// What a counter is known by.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) text: String,
    /// Of the text, what names the limit.
    pub(super) limit_bytes: usize,
}

impl Key {
    fn limit(&self) -> &str {
        self.text.get(..self.limit_bytes).unwrap_or(&self.text)
    }

    /// The counter of all values past those that have one of their own.
    fn of_others(&self) -> Self {
        Self { text: format!("{}\u{1f}\u{1f}", self.limit()), limit_bytes: self.limit_bytes }
    }
}

/// When a window is over, since the epoch.
pub(super) fn end_of_window(window: u64, interval: Duration) -> Duration {
    let interval = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(window.saturating_add(1).saturating_mul(interval))
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counter {
    /// Number of the window since the epoch.
    pub(super) window: u64,
    pub(super) used: u64,
    pub(super) before: u64,
    pub(super) reserved: u64,
    /// Since the epoch; from then on it no longer matters.
    pub(super) until: Duration,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) by_key: HashMap<String, Counter>,
    /// How many there are of each limit.
    of_limit: HashMap<String, usize>,
    /// All of them, in the order in which they are looked at.
    round: VecDeque<Key>,
}

impl Counters {
    /// The counter of a key, or of all others if there is no more room for one.
    pub(super) fn place(&self, key: Key) -> Key {
        let is_full = self.of_limit.get(key.limit()).is_some_and(|count| *count >= MAX_COUNTERS_OF_LIMIT);
        if is_full && !self.by_key.contains_key(&key.text) { key.of_others() } else { key }
    }

    pub(super) fn counter(&mut self, key: &Key) -> &mut Counter {
        if !self.by_key.contains_key(&key.text) {
            self.round.push_back(key.clone());
            *self.of_limit.entry(key.limit().to_owned()).or_default() += 1;
        }
        self.by_key.entry(key.text.clone()).or_default()
    }

    /// Looks at a few, and lets those go that no longer matter.
    pub(super) fn look(&mut self, now: Duration) {
        for _ in 0..LOOKS {
            let Some(key) = self.round.pop_front() else { return };
            let counter = self.by_key.get(&key.text);
            if counter.is_some_and(|counter| counter.reserved > 0 || counter.until > now) {
                self.round.push_back(key);
                continue;
            }
            self.by_key.remove(&key.text);
            if let Some(count) = self.of_limit.get_mut(key.limit()) {
                *count -= 1;
                if *count == 0 {
                    self.of_limit.remove(key.limit());
                }
            }
        }
    }
}

impl Counter {
    pub(super) fn settle(&mut self, reserved: u64, used: u64) {
        self.reserved = self.reserved.saturating_sub(reserved);
        self.used = self.used.saturating_add(used);
    }

    /// Begins a new window if the last one is over.
    pub(super) fn turn(&mut self, limit: &Limit, now: Duration) {
        let window = limit.window(now);
        if window != self.window || self.until.is_zero() {
            self.before = if window == self.window.saturating_add(1) { self.used } else { 0 };
            self.used = 0;
            self.window = window;
            self.until = end_of_window(window.saturating_add(1), limit.interval);
        }
    }

    pub(super) fn held(&self, limit: &Limit, now: Duration) -> u64 {
        let before = match limit.technique {
            Technique::Fixed => 0,
            Technique::Sliding => self.before.saturating_mul(1000 - limit.elapsed_thousandths(now)) / 1000,
        };
        self.used.saturating_add(self.reserved).saturating_add(before)
    }
}
