//! The counters of all limits, bounded in memory.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::Window;
use model::Technique;

/// Counters of one limit, for as many values.
pub const MAX_COUNTERS_OF_LIMIT: usize = 10_000;
/// Counters that each request looks at, to drop those that no longer matter.
const LOOKS: usize = 2;

/// Stands before each value in a key.
const SEPARATOR: char = '\u{1f}';
/// In a key, the separator and this character are written as two.
const ESCAPE: char = '\u{1b}';

/// What a counter is known by.
#[derive(Clone, Debug)]
pub struct Key {
    pub(crate) text: String,
    /// Of the text, the bytes that name the limit.
    pub(crate) limit_bytes: usize,
}

impl Key {
    /// The key of one counter: the name of a limit and the values that it is counted by. The name must not contain the
    /// amount of the limit: if an operator changes the amount, the counts stay.
    pub fn new<'v>(limit: &str, values: impl IntoIterator<Item = Cow<'v, str>>) -> Self {
        let mut text = limit.to_owned();
        for value in values {
            text.push(SEPARATOR);
            // Clients choose values: none may read as two, or as the key of something else.
            if value.contains([SEPARATOR, ESCAPE]) {
                text.push_str(&value.replace(ESCAPE, "\u{1b}0").replace(SEPARATOR, "\u{1b}1"));
            } else {
                text.push_str(&value);
            }
        }
        Self { text, limit_bytes: limit.len() }
    }

    fn limit(&self) -> &str {
        self.text.get(..self.limit_bytes).unwrap_or(&self.text)
    }

    /// The counter of all values past those that have one of their own.
    fn of_others(&self) -> Self {
        Self { text: format!("{}{ESCAPE}", self.limit()), limit_bytes: self.limit_bytes }
    }
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
pub(super) struct Table {
    pub(super) by_key: HashMap<String, Counter>,
    /// How many there are of each limit.
    of_limit: HashMap<String, usize>,
    /// All of them, in the order in which they are looked at.
    round: VecDeque<Key>,
}

impl Table {
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

    /// Looks at a few, and drops those that no longer matter.
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
    pub(super) fn turn(&mut self, window: Window, now: Duration) {
        let number = window.number(now);
        if number != self.window || self.until.is_zero() {
            self.before = if number == self.window.saturating_add(1) { self.used } else { 0 };
            self.used = 0;
            self.window = number;
            self.until = window.end(number.saturating_add(1));
        }
    }

    pub(super) fn held(&self, window: Window, now: Duration) -> u64 {
        let before = match window.technique {
            Technique::Fixed => 0,
            Technique::Sliding => self.before.saturating_mul(1000 - window.elapsed_thousandths(now)) / 1000,
        };
        self.used.saturating_add(self.reserved).saturating_add(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_reads_as_another() {
        let texts = ["", "a", "b", "\u{1f}", "\u{1b}", "a\u{1f}b", "\u{1b}1", "\u{1f}\u{1f}"];
        let mut keys = vec![Key::new("limit", []).of_others().text];
        for first in texts {
            keys.push(Key::new("limit", [first.into()]).text);
            for second in texts {
                keys.push(Key::new("limit", [first.into(), second.into()]).text);
            }
        }
        let count = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!((keys.len(), count), (73, 73));
    }
}
