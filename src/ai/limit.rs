//! Limits of requests, tokens and money: reserved before a call, settled after it.
//!
//! All limits of a call are taken at once or not at all, under one lock, so calls at the same moment
//! cannot overspend together. What a call may use at most is reserved; what it did use replaces that.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_queue::SegQueue;
use parking_lot::Mutex;

/// Counters that are kept; past that the idle ones go.
const MAX_COUNTERS: usize = 100_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    Requests,
    Tokens,
    /// In 10⁻⁹ US dollars.
    Cost,
}

impl Measure {
    pub const WORDS: &'static [(&'static str, Self)] =
        &[("requests", Self::Requests), ("tokens", Self::Tokens), ("cost", Self::Cost)];
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Technique {
    /// Windows that begin at whole intervals of the clock.
    #[default]
    Fixed,
    /// The window before counts by the part of it that is less than an interval ago.
    Sliding,
}

impl Technique {
    pub const WORDS: &'static [(&'static str, Self)] = &[("fixed", Self::Fixed), ("sliding", Self::Sliding)];
}

/// What each value of has a limit of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    Token,
    Model,
    Provider,
    /// The value of this key of the metadata.
    Metadata(String),
}

impl Dimension {
    /// `token`, `model`, `provider` or `metadata.KEY`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "token" => Some(Self::Token),
            "model" => Some(Self::Model),
            "provider" => Some(Self::Provider),
            _ => text
                .strip_prefix("metadata.")
                .filter(|key| !key.is_empty())
                .map(|key| Self::Metadata(key.to_owned())),
        }
    }
}

/// A limit of a gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    /// Separate counters for each of these; one for the gateway where there are none.
    pub by: Vec<Dimension>,
    pub measure: Measure,
    /// Requests, tokens or 10⁻⁹ dollars.
    pub limit: u64,
    pub interval: Duration,
    pub technique: Technique,
}

impl Limit {
    /// Whether the body has to be known before the call is let through.
    pub fn needs_body(&self) -> bool {
        self.measure != Measure::Requests || self.by.contains(&Dimension::Model)
    }
}

/// Who calls, for the counters.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'c> {
    /// `account/gateway`
    pub gateway: &'c str,
    pub token: Option<&'c str>,
    pub provider: &'c str,
    pub model: Option<&'c str>,
    pub metadata: &'c super::metadata::Metadata,
}

impl Caller<'_> {
    fn key(&self, nth: usize, limit: &Limit) -> String {
        let mut key = format!("{} {nth}", self.gateway);
        for dimension in &limit.by {
            key.push('\u{1f}');
            match dimension {
                Dimension::Token => key.push_str(self.token.unwrap_or("")),
                Dimension::Provider => key.push_str(self.provider),
                Dimension::Model => key.push_str(self.model.unwrap_or("")),
                Dimension::Metadata(name) => key.push_str(&self.metadata.text(name).unwrap_or_default()),
            }
        }
        key
    }
}

/// What a call takes of each measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    pub tokens: u64,
    pub cost_nanos: u64,
}

impl Amounts {
    fn of(self, measure: Measure) -> u64 {
        match measure {
            Measure::Requests => 1,
            Measure::Tokens => self.tokens,
            Measure::Cost => self.cost_nanos,
        }
    }
}

/// What was taken. It is given back when it is dropped before it was settled.
#[derive(Debug)]
pub struct Reservation {
    ledger: Arc<Ledger>,
    taken: Vec<(String, Measure, u64)>,
    /// What is left of each limit, after this call.
    pub remaining: Vec<(Measure, u64)>,
}

impl Reservation {
    /// Replaces what was reserved by what was used. Never waits.
    pub fn settle(mut self, used: Amounts) {
        self.close(|measure, _| used.of(measure));
    }

    /// Takes what was reserved for used, where nobody knows better.
    pub fn settle_as_reserved(mut self) {
        self.close(|_, reserved| reserved);
    }

    fn close(&mut self, used: impl Fn(Measure, u64) -> u64) {
        for (key, measure, reserved) in std::mem::take(&mut self.taken) {
            self.ledger.settled.push(Settled { key, reserved, used: used(measure, reserved) });
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.close(|_, _| 0);
    }
}

/// What a call used in place of what was reserved for it.
#[derive(Debug)]
struct Settled {
    key: String,
    reserved: u64,
    used: u64,
}

/// A limit that a call would pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    pub measure: Measure,
    /// What is left, less than the call would take.
    pub remaining: u64,
    pub retry_after: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    /// Number of the window since the epoch.
    window: u64,
    used: u64,
    before: u64,
    reserved: u64,
}

/// All counters of the process.
#[derive(Debug, Default)]
pub struct Ledger {
    counters: Mutex<HashMap<String, Counter>>,
    /// Not counted yet: the next call counts them before it is judged. Whoever settles may be kept from its
    /// processor for long, and must not hold the lock meanwhile.
    settled: SegQueue<Settled>,
}

impl Ledger {
    /// Takes what a call may use at most of every limit, or nothing of any.
    ///
    /// # Errors
    /// The first limit that it would pass.
    pub fn reserve(
        self: &Arc<Self>,
        limits: &[Limit],
        caller: Caller<'_>,
        amounts: Amounts,
        now: Duration,
    ) -> Result<Reservation, Exceeded> {
        let (mut taken, mut remaining) = (Vec::new(), Vec::new());
        let mut counters = self.counters.lock();
        while let Some(Settled { key, reserved, used }) = self.settled.pop() {
            counters.entry(key).or_default().settle(reserved, used);
        }
        if counters.len() > MAX_COUNTERS {
            counters.retain(|_, counter| counter.reserved > 0 || counter.used > 0);
        }
        for (nth, limit) in limits.iter().enumerate() {
            let key = caller.key(nth, limit);
            let counter = counters.entry(key.clone()).or_default();
            counter.turn(limit, now);
            let amount = amounts.of(limit.measure);
            let held = counter.held(limit, now);
            if held.saturating_add(amount) > limit.limit {
                return Err(Exceeded {
                    measure: limit.measure,
                    remaining: limit.limit.saturating_sub(held),
                    retry_after: limit.until_next(now),
                });
            }
            taken.push((key, limit.measure, amount));
            remaining.push((limit.measure, limit.limit - held - amount));
        }
        for (key, _, amount) in &taken {
            if let Some(counter) = counters.get_mut(key) {
                counter.reserved += amount;
            }
        }
        Ok(Reservation { ledger: Arc::clone(self), taken, remaining })
    }

    /// Counts a call of the past, where it still matters.
    pub fn recover(&self, limits: &[Limit], caller: Caller<'_>, used: Amounts, at: Duration, now: Duration) {
        let mut counters = self.counters.lock();
        for (nth, limit) in limits.iter().enumerate() {
            let counter = counters.entry(caller.key(nth, limit)).or_default();
            counter.turn(limit, now);
            match limit.window(now).checked_sub(limit.window(at)) {
                Some(0) => counter.used = counter.used.saturating_add(used.of(limit.measure)),
                Some(1) => counter.before = counter.before.saturating_add(used.of(limit.measure)),
                _ => {}
            }
        }
    }
}

impl Limit {
    fn window(&self, at: Duration) -> u64 {
        u64::try_from(at.as_millis() / self.interval.as_millis().max(1)).unwrap_or(u64::MAX)
    }

    /// The part of the window that is over, in thousandths.
    fn elapsed_thousandths(&self, now: Duration) -> u64 {
        let interval = self.interval.as_millis().max(1);
        u64::try_from(now.as_millis() % interval * 1000 / interval).unwrap_or(1000)
    }

    fn until_next(&self, now: Duration) -> Duration {
        let interval = self.interval.as_millis().max(1);
        Duration::from_millis(u64::try_from(interval - now.as_millis() % interval).unwrap_or(u64::MAX))
    }
}

impl Counter {
    fn settle(&mut self, reserved: u64, used: u64) {
        self.reserved = self.reserved.saturating_sub(reserved);
        self.used = self.used.saturating_add(used);
    }

    /// Begins a new window where the last one is over.
    fn turn(&mut self, limit: &Limit, now: Duration) {
        let window = limit.window(now);
        if window != self.window {
            self.before = if window == self.window + 1 { self.used } else { 0 };
            self.used = 0;
            self.window = window;
        }
    }

    fn held(&self, limit: &Limit, now: Duration) -> u64 {
        let before = match limit.technique {
            Technique::Fixed => 0,
            Technique::Sliding => self.before.saturating_mul(1000 - limit.elapsed_thousandths(now)) / 1000,
        };
        self.used.saturating_add(self.reserved).saturating_add(before)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::ai::metadata::Metadata;

    fn limit(measure: Measure, limit: u64, technique: Technique) -> Limit {
        Limit { by: Vec::new(), measure, limit, interval: Duration::from_secs(60), technique }
    }

    fn caller(metadata: &Metadata) -> Caller<'_> {
        Caller { gateway: "acme/main", token: Some("t1"), provider: "openai", model: Some("m"), metadata }
    }

    const NOW: Duration = Duration::from_secs(6_000_000);

    #[test]
    fn two_hundred_at_once_and_a_hundred_allowed() {
        let (ledger, metadata) = (Arc::new(Ledger::default()), Metadata::default());
        let limits = [
            limit(Measure::Requests, 100, Technique::Fixed),
            limit(Measure::Tokens, 10_000, Technique::Fixed),
        ];
        let allowed = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..200 {
                scope.spawn(|| {
                    let amounts = Amounts { tokens: 50, cost_nanos: 0 };
                    if let Ok(taken) = ledger.reserve(&limits, caller(&metadata), amounts, NOW) {
                        allowed.fetch_add(1, Ordering::Relaxed);
                        taken.settle(Amounts { tokens: 20, cost_nanos: 0 });
                    }
                });
            }
        });
        assert_eq!(allowed.into_inner(), 100);
    }

    #[test]
    fn money_is_reserved_settled_and_given_back() {
        let (ledger, metadata) = (Arc::new(Ledger::default()), Metadata::default());
        let limits = [limit(Measure::Cost, 1000, Technique::Fixed)];
        let take =
            |nanos| ledger.reserve(&limits, caller(&metadata), Amounts { tokens: 0, cost_nanos: nanos }, NOW);
        let first = take(900).unwrap();
        assert_eq!(first.remaining, [(Measure::Cost, 100)]);
        let refused = take(200).unwrap_err();
        assert_eq!((refused.remaining, refused.retry_after), (100, Duration::from_secs(60)));
        first.settle(Amounts { tokens: 0, cost_nanos: 300 });
        let second = take(700).unwrap();
        assert!(take(1).is_err());
        drop(second);
        assert!(take(700).is_ok());
    }

    #[test]
    fn windows_turn_and_slide() {
        let metadata = Metadata::default();
        for (technique, half_way) in [(Technique::Fixed, 10), (Technique::Sliding, 5)] {
            let (ledger, limits) = (Arc::new(Ledger::default()), [limit(Measure::Requests, 10, technique)]);
            let count = |now| {
                let taken: Vec<_> = std::iter::from_fn(|| {
                    ledger.reserve(&limits, caller(&metadata), Amounts::default(), now).ok()
                })
                .collect();
                let count = taken.len();
                taken.into_iter().for_each(|taken| taken.settle(Amounts::default()));
                count
            };
            assert_eq!(count(NOW), 10);
            assert_eq!(count(NOW + Duration::from_secs(90)), half_way, "{technique:?}");
            assert_eq!(count(NOW + Duration::from_secs(600)), 10);
        }
    }

    #[test]
    fn each_value_has_its_own_counter() {
        let ledger = Arc::new(Ledger::default());
        let mut limits = [limit(Measure::Requests, 1, Technique::Fixed)];
        limits[0].by = vec![Dimension::Metadata("team".into()), Dimension::Model];
        let (a, b) = (Metadata::parse(r#"{"team":"a"}"#), Metadata::parse(r#"{"team":"b"}"#));
        let take = |metadata| ledger.reserve(&limits, caller(metadata), Amounts::default(), NOW);
        let held = (take(&a), take(&b));
        assert!(held.0.is_ok() && held.1.is_ok() && take(&a).is_err());
    }

    #[test]
    fn calls_of_before_the_start_count() {
        let (ledger, metadata) = (Arc::new(Ledger::default()), Metadata::default());
        let limits = [limit(Measure::Tokens, 100, Technique::Fixed)];
        let used = |tokens| Amounts { tokens, cost_nanos: 0 };
        ledger.recover(&limits, caller(&metadata), used(60), NOW, NOW + Duration::from_secs(5));
        ledger.recover(&limits, caller(&metadata), used(60), NOW - Duration::from_secs(300), NOW);
        assert!(ledger.reserve(&limits, caller(&metadata), used(41), NOW).is_err());
        assert!(ledger.reserve(&limits, caller(&metadata), used(40), NOW).is_ok());
    }
}
