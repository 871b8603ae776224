//! What is reserved of the counters of all limits, and settled.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_queue::SegQueue;
use parking_lot::Mutex;

use super::counters::{Counters, Key, end_of_window};
use super::{Caller, Estimate, Exceeded, Used};
use model::{Counted, Dimension, Limit, Measure};

impl Caller<'_> {
    /// Which counter of a limit a call is counted by: what the limit is, whatever its height, then the values.
    fn key(&self, nth: usize, limit: &Limit) -> Key {
        use std::fmt::Write;
        let mut text = String::with_capacity(64);
        // INVARIANT: writing to a text cannot fail.
        let _ = write!(text, "{} {:?} {}", self.gateway, limit.measure, limit.interval.as_millis());
        let _ = write!(text, " {:?} {nth}", limit.technique);
        for dimension in &limit.by {
            let _ = write!(text, " {dimension:?}");
        }
        let limit_bytes = text.len();
        for dimension in &limit.by {
            text.push('\u{1f}');
            match dimension {
                Dimension::Token => text.push_str(self.token.unwrap_or("")),
                Dimension::Provider => text.push_str(self.provider),
                Dimension::Model => text.push_str(self.model.unwrap_or("")),
                Dimension::Metadata(name) => text.push_str(&self.metadata.text(name).unwrap_or_default()),
            }
        }
        Key { text, limit_bytes }
    }
}

/// What was taken. It is given back when it is dropped before it was settled.
#[derive(Debug)]
pub struct Reservation {
    ledger: Arc<Ledger>,
    taken: Vec<Taken>,
    /// What is left of each limit, after what this call uses at least.
    pub remaining: Vec<(Measure, u64)>,
}

/// What was taken of one counter.
#[derive(Clone, Debug)]
struct Taken {
    key: Key,
    measure: Measure,
    amount: u64,
    window: u64,
    interval: Duration,
}

impl Reservation {
    /// Replaces what was reserved by what was used. Never waits.
    pub fn settle(mut self, used: impl Into<Used>) -> Vec<Counted> {
        let used = used.into();
        self.close(|measure, reserved| used.of(measure).unwrap_or(reserved))
    }

    fn close(&mut self, used: impl Fn(Measure, u64) -> u64) -> Vec<Counted> {
        let mut counted = Vec::with_capacity(self.taken.len());
        for taken in std::mem::take(&mut self.taken) {
            let used = used(taken.measure, taken.amount);
            if used > 0 {
                counted.push(Counted {
                    key: taken.key.text.clone(),
                    limit_bytes: taken.key.limit_bytes,
                    window: taken.window,
                    used,
                    until: end_of_window(taken.window.saturating_add(1), taken.interval),
                });
            }
            self.ledger.settled.push(Settled { taken, used });
        }
        counted
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
    taken: Taken,
    used: u64,
}

/// All counters of the process.
#[derive(Debug, Default)]
pub struct Ledger {
    counters: Mutex<Counters>,
    /// Not counted yet: the next call counts them before it is judged. Whoever settles may be kept from its
    /// processor for long, and must not hold the lock meanwhile.
    settled: SegQueue<Settled>,
}

impl Ledger {
    /// Takes what a call may use of every limit, or nothing of any.
    ///
    /// # Errors
    /// The first limit that it would pass.
    pub fn reserve(
        self: &Arc<Self>,
        limits: &[Limit],
        caller: Caller<'_>,
        estimate: Estimate,
        now: Duration,
    ) -> Result<Reservation, Exceeded> {
        let (mut taken, mut remaining) = (Vec::new(), Vec::new());
        let mut counters = self.counters.lock();
        while let Some(Settled { taken, used }) = self.settled.pop() {
            if let Some(counter) = counters.by_key.get_mut(&taken.key.text) {
                counter.settle(taken.amount, used);
            }
        }
        counters.look(now);
        for (nth, limit) in limits.iter().enumerate() {
            let key = caller.key(ordinal(limits, nth), limit);
            let key = counters.place(key);
            let counter = counters.counter(&key);
            counter.turn(limit, now);
            let (least, most) = (estimate.least.of(limit.measure), estimate.most.of(limit.measure));
            let held = counter.held(limit, now);
            let left = limit.limit.saturating_sub(held);
            if least > left || left == 0 && most > 0 {
                return Err(Exceeded {
                    measure: limit.measure,
                    remaining: left,
                    retry_after: limit.until_next(now),
                });
            }
            let (amount, window, interval) = (most.clamp(least, left), counter.window, limit.interval);
            taken.push(Taken { key, measure: limit.measure, amount, window, interval });
            remaining.push((limit.measure, left - least));
        }
        for Taken { key, amount, .. } in &taken {
            if let Some(counter) = counters.by_key.get_mut(&key.text) {
                counter.reserved = counter.reserved.saturating_add(*amount);
            }
        }
        Ok(Reservation { ledger: Arc::clone(self), taken, remaining })
    }

    /// Counts what calls of a process before this one used.
    pub fn recover(&self, counted: &[Counted]) {
        let mut counters = self.counters.lock();
        for Counted { key, limit_bytes, window, used, until } in counted {
            let key = counters.place(Key { text: key.clone(), limit_bytes: *limit_bytes });
            let counter = counters.counter(&key);
            counter.until = counter.until.max(*until);
            if *window > counter.window {
                counter.before = if *window == counter.window.saturating_add(1) { counter.used } else { 0 };
                (counter.window, counter.used) = (*window, *used);
            } else if *window == counter.window {
                counter.used = counter.used.saturating_add(*used);
            } else if window.saturating_add(1) == counter.window {
                counter.before = counter.before.saturating_add(*used);
            }
        }
    }

    /// How many counters there are.
    pub fn counters(&self) -> usize {
        self.counters.lock().by_key.len()
    }
}

/// Which of the limits that differ in nothing but their height a limit is.
fn ordinal(limits: &[Limit], nth: usize) -> usize {
    let is_like = |a: &Limit, b: &Limit| {
        a.by == b.by && a.measure == b.measure && a.interval == b.interval && a.technique == b.technique
    };
    let Some(limit) = limits.get(nth) else { return 0 };
    limits.iter().take(nth).filter(|other| is_like(other, limit)).count()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::super::Amounts;
    use super::*;
    use crate::limit::MAX_COUNTERS_OF_LIMIT;
    use crate::metadata::Metadata;
    use model::Technique;

    fn limit(measure: Measure, limit: u64, technique: Technique) -> Limit {
        Limit { by: Vec::new(), measure, limit, interval: Duration::from_secs(60), technique }
    }

    fn caller(metadata: &Metadata) -> Caller<'_> {
        Caller { gateway: "acme/main", token: Some("t1"), provider: "openai", model: Some("m"), metadata }
    }

    /// A call that uses as much, neither less nor more.
    fn exactly(amounts: Amounts) -> Estimate {
        Estimate { least: amounts, most: amounts }
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
                    let estimate = exactly(Amounts { tokens: 50, cost_nanos: 0 });
                    if let Ok(taken) = ledger.reserve(&limits, caller(&metadata), estimate, NOW) {
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
        let take = |nanos| {
            let estimate = exactly(Amounts { tokens: 0, cost_nanos: nanos });
            ledger.reserve(&limits, caller(&metadata), estimate, NOW)
        };
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
                    ledger.reserve(&limits, caller(&metadata), Estimate::default(), now).ok()
                })
                .collect();
                let count = taken.len();
                taken.into_iter().for_each(|taken| drop(taken.settle(Amounts::default())));
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
        let take = |metadata| ledger.reserve(&limits, caller(metadata), Estimate::default(), NOW);
        let held = (take(&a), take(&b));
        assert!(held.0.is_ok() && held.1.is_ok() && take(&a).is_err());
    }

    #[test]
    fn what_does_not_fit_takes_all_that_is_left() {
        let (ledger, metadata) = (Arc::new(Ledger::default()), Metadata::default());
        let limits = [limit(Measure::Tokens, 100, Technique::Fixed)];
        let tokens = |tokens| Amounts { tokens, cost_nanos: 0 };
        let take = |least, most| {
            let estimate = Estimate { least: tokens(least), most: tokens(most) };
            ledger.reserve(&limits, caller(&metadata), estimate, NOW)
        };
        let first = take(10, 80).unwrap();
        assert_eq!(first.remaining, [(Measure::Tokens, 90)]);
        let second = take(10, u64::MAX).unwrap();
        assert!(take(0, 1).is_err() && take(1, 1).is_err(), "nothing is left");
        drop((first, second));
        assert!(take(101, u64::MAX).is_err());
        let third = take(100, u64::MAX).unwrap();
        third.settle(tokens(u64::MAX));
        assert!(take(1, 1).is_err());
    }

    #[test]
    fn calls_of_before_the_start_count() {
        let metadata = Metadata::default();
        let limits =
            [limit(Measure::Tokens, 100, Technique::Sliding), limit(Measure::Cost, 10, Technique::Fixed)];
        let used = |tokens| exactly(Amounts { tokens, cost_nanos: 1 });
        let before = Arc::new(Ledger::default());
        let spend = |tokens, at| {
            let taken = before.reserve(&limits, caller(&metadata), used(tokens), at).unwrap();
            taken.settle(Used::AS_RESERVED)
        };
        let counted: Vec<Counted> = [
            spend(30, NOW - Duration::from_secs(600)),
            spend(40, NOW - Duration::from_secs(60)),
            spend(30, NOW),
        ]
        .concat();
        let ledger = Arc::new(Ledger::default());
        ledger.recover(&counted);
        let take = |tokens| ledger.reserve(&limits, caller(&metadata), used(tokens), NOW);
        // 30 of this window, and 40 of the window before, which has not begun to fade.
        assert!(take(31).is_err() && take(30).is_ok());
    }

    #[test]
    fn counters_are_bounded_and_go() {
        let ledger = Arc::new(Ledger::default());
        let mut limits = [limit(Measure::Requests, 1, Technique::Fixed)];
        limits[0].by = vec![Dimension::Metadata("user".into())];
        let ask = |user: usize, now| {
            let metadata = Metadata::parse(&format!("{{\"user\":{user}}}"));
            let taken = ledger.reserve(&limits, caller(&metadata), Estimate::default(), now);
            taken.map(|taken| taken.settle(Amounts::default())).is_ok()
        };
        assert!((0..MAX_COUNTERS_OF_LIMIT).all(|user| ask(user, NOW)));
        // What more there are share one.
        let passed = (0..1000).filter(|user| ask(MAX_COUNTERS_OF_LIMIT + user, NOW)).count();
        assert_eq!(passed, 1);
        assert_eq!(ledger.counters(), MAX_COUNTERS_OF_LIMIT + 1);
        assert!(!ask(5, NOW), "known ones keep theirs");
        let later = NOW + Duration::from_secs(300);
        for _ in 0..MAX_COUNTERS_OF_LIMIT {
            ask(7, later);
        }
        assert!(ledger.counters() < 10, "{}", ledger.counters());
    }
}
