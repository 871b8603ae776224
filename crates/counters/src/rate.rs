//! Counters of request rates: one for each value that clients are counted by, bounded in memory.
//!
//! A period begins with the first request of a counter. What the period before counted weighs as much as is left of it in
//! the last period, so that no two periods can be used one after the other. A counter is asked and raised under one lock,
//! so requests at the same moment cannot pass together.
//!
//! A rule has at most [`MAX_RATE_COUNTERS`]. Past them a new counter takes the place of the one in its group that counted
//! least and begins with what weighed on that, but below the limit: a value that was pushed out is counted too high when it
//! comes back, never too low, and one that comes for the first time is not refused for what others did.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::rate_table::{RateCounter, RateShard, ms};

/// Most counters of one rule. They take 10 MB.
pub const MAX_RATE_COUNTERS: usize = SHARDS * RateShard::MAX_COUNTERS;

const SHARDS: usize = 16;

/// How much may be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub limit: u64,
    pub period: Duration,
    /// How long a counter that reached its limit stays shut; zero if only for as long as it is at its limit.
    pub mitigation: Duration,
}

/// A rate that is exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateExceeded {
    pub limit: u64,
    /// When there is room again, if nothing else comes meanwhile. Above zero.
    pub retry_after: Duration,
}

/// What a counter is known by: a keyed hash of the values that requests are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateKey(u128);

/// The counters of one rule.
#[derive(Debug)]
pub struct RateCounters {
    shards: [Mutex<RateShard>; SHARDS],
    hashers: [RandomState; 2],
}

/// A request that is counted when its answer is known. Until then it takes the place of one.
#[derive(Debug)]
pub struct RateHold {
    counters: Arc<RateCounters>,
    key: RateKey,
    rate: Rate,
    /// What is counted in its place.
    amount: u64,
    now: Duration,
}

impl Rate {
    pub(crate) fn period_ms(self) -> u64 {
        ms(self.period).max(1)
    }
}

impl Default for RateCounters {
    fn default() -> Self {
        let shards = std::array::from_fn(|_| Mutex::new(RateShard::new()));
        Self { shards, hashers: [RandomState::new(), RandomState::new()] }
    }
}

impl RateCounters {
    /// The key of values, as one text in which each begins where no other can.
    pub fn key(&self, values: &[u8]) -> RateKey {
        let [high, low] = self.hashers.each_ref().map(|hasher| hasher.hash_one(values));
        // 0 is free.
        RateKey((u128::from(high) << 64 | u128::from(low)).max(1))
    }

    fn shard(&self, key: RateKey) -> Option<&Mutex<RateShard>> {
        // INVARIANT: four bits are one of sixteen.
        self.shards.get((key.0 & 0xf) as usize)
    }

    /// Takes something of a counter if one more fits; with `takes_all` also if it does not.
    fn take(
        &self,
        key: RateKey,
        rate: Rate,
        now: Duration,
        takes_all: bool,
        take: impl FnOnce(&mut RateCounter),
    ) -> Result<(), RateExceeded> {
        let now_ms = ms(now);
        // INVARIANT: each key has a shard, and a shard a counter for each key.
        let Some(shard) = self.shard(key) else { return Ok(()) };
        let mut shard = shard.lock();
        let Some(counter) = shard.counter(key.0, now_ms, rate) else { return Ok(()) };
        let admitted = counter.admit(now_ms, rate);
        if admitted.is_ok() || takes_all {
            take(counter);
        }
        admitted
    }

    /// Counts one, if it fits. With `counts_all` also if it does not.
    ///
    /// # Errors
    /// The rate is exceeded.
    pub fn count(
        &self,
        key: RateKey,
        rate: Rate,
        now: Duration,
        counts_all: bool,
    ) -> Result<(), RateExceeded> {
        self.take(key, rate, now, counts_all, |counter| counter.add(1))
    }

    /// Asks whether one fits, and counts nothing.
    ///
    /// # Errors
    /// The rate is exceeded.
    pub fn ask(&self, key: RateKey, rate: Rate, now: Duration) -> Result<(), RateExceeded> {
        self.take(key, rate, now, false, |_| ())
    }

    /// Takes the place of one until its answer is known, if it fits. With `holds_all` also if it does not.
    pub fn hold(
        self: &Arc<Self>,
        key: RateKey,
        rate: Rate,
        now: Duration,
        holds_all: bool,
    ) -> (Option<RateHold>, Result<(), RateExceeded>) {
        let mut is_held = false;
        let admitted = self.take(key, rate, now, holds_all, |counter| {
            counter.held = counter.held.saturating_add(1);
            is_held = true;
        });
        let hold = || RateHold { counters: Arc::clone(self), key, rate, amount: 0, now };
        (is_held.then(hold), admitted)
    }

    fn settle(&self, key: RateKey, rate: Rate, amount: u64, now: Duration) {
        let Some(shard) = self.shard(key) else { return };
        let mut shard = shard.lock();
        // One that was pushed out meanwhile holds nothing; a place is made for it only if there is something to count.
        let counter = match amount {
            0 => shard.known(key.0),
            _ => shard.counter(key.0, ms(now), rate),
        };
        if let Some(counter) = counter {
            counter.held = counter.held.saturating_sub(1);
            counter.add(amount);
        }
    }

    /// How many counters there is room for now.
    pub fn room(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().room()).sum()
    }
}

impl RateHold {
    /// Counts what the request came to, in place of the one that was held.
    pub fn settle(mut self, amount: u64, now: Duration) {
        (self.amount, self.now) = (amount, now);
    }
}

impl Drop for RateHold {
    fn drop(&mut self) {
        self.counters.settle(self.key, self.rate, self.amount, self.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(1_000_000);

    fn rate(limit: u64, period_s: u64, mitigation_s: u64) -> Rate {
        Rate { limit, period: Duration::from_secs(period_s), mitigation: Duration::from_secs(mitigation_s) }
    }

    fn at(ms: u64) -> Duration {
        START + Duration::from_millis(ms)
    }

    /// How many of as many requests at a time pass.
    fn pass(counters: &RateCounters, value: &[u8], rate: Rate, now: Duration, requests: usize) -> usize {
        let key = counters.key(value);
        (0..requests).filter(|_| counters.count(key, rate, now, false).is_ok()).count()
    }

    #[test]
    fn no_two_periods_can_be_used_one_after_the_other() {
        let (counters, rate) = (RateCounters::default(), rate(100, 10, 0));
        assert_eq!(pass(&counters, b"a", rate, at(0), 50), 50);
        assert_eq!(pass(&counters, b"a", rate, at(9_999), 200), 50);
        assert_eq!(pass(&counters, b"b", rate, at(9_999), 200), 100, "each value has its own");
        assert_eq!(pass(&counters, b"a", rate, at(10_000), 200), 0);
        assert_eq!(pass(&counters, b"a", rate, at(15_000), 200), 50, "half of the last period is over");
        assert_eq!(pass(&counters, b"a", rate, at(60_000), 200), 100);
        // Whatever the times, in no period do more than the limit pass: here by tenths of one.
        let counters = RateCounters::default();
        let passed: Vec<usize> =
            (0..100).map(|nth| pass(&counters, b"a", rate, at(nth * 1000 + nth % 7), 30)).collect();
        assert!(passed.windows(10).all(|period| period.iter().sum::<usize>() <= 110), "{passed:?}");
        assert!(passed.windows(20).all(|period| period.iter().sum::<usize>() >= 100), "{passed:?}");
    }

    #[test]
    fn what_is_told_is_when_there_is_room_again() {
        for (limit, sent_at) in [(1, [0, 0]), (5, [0, 9_000]), (100, [3_000, 9_999])] {
            let (counters, rate) = (RateCounters::default(), rate(limit, 10, 0));
            let key = counters.key(b"a");
            let mut now = 0;
            for sent_at in sent_at {
                now = sent_at;
                pass(&counters, b"a", rate, at(now), 1000);
            }
            for _ in 0..3 {
                let exceeded = counters.ask(key, rate, at(now)).unwrap_err();
                let wait_ms = ms(exceeded.retry_after);
                assert!(counters.ask(key, rate, at(now + wait_ms - 1)).is_err(), "{limit} {now} {wait_ms}");
                now += wait_ms;
                assert!(counters.ask(key, rate, at(now)).is_ok(), "{limit} {now} {wait_ms}");
                pass(&counters, b"a", rate, at(now), 1000);
            }
        }
    }

    #[test]
    fn a_counter_that_reached_its_limit_stays_shut_for_as_long_as_it_is_to() {
        let (counters, rate) = (RateCounters::default(), rate(3, 1, 60));
        assert_eq!(pass(&counters, b"a", rate, at(0), 10), 3);
        let key = counters.key(b"a");
        for (now, left_s) in [(0, 60), (30_000, 30), (59_000, 1)] {
            assert_eq!(
                counters.ask(key, rate, at(now)).unwrap_err().retry_after,
                Duration::from_secs(left_s)
            );
        }
        assert_eq!(pass(&counters, b"a", rate, at(60_000), 10), 3);
    }

    #[test]
    fn what_is_counted_later_takes_its_place_meanwhile() {
        let (counters, rate) = (Arc::new(RateCounters::default()), rate(3, 10, 60));
        let key = counters.key(b"a");
        let hold = |now| counters.hold(key, rate, at(now), false);
        let mut held: Vec<RateHold> = (0..3).map(|_| hold(0).0.unwrap()).collect();
        let (none, refused) = hold(0);
        assert!(
            none.is_none() && refused.unwrap_err().retry_after == Duration::from_secs(1),
            "nothing is shut yet"
        );
        drop(held.pop());
        held.pop().unwrap().settle(0, at(1));
        assert!(hold(2).1.is_ok(), "two came to nothing, and this one is given back at once");
        held.pop().unwrap().settle(3, at(3));
        assert_eq!(hold(4).1.unwrap_err().retry_after, Duration::from_secs(60));
        let (held, refused) = counters.hold(key, rate, at(5), true);
        assert!(held.is_some() && refused.is_err(), "what is only told is counted all the same");
    }

    #[test]
    fn of_many_values_none_is_unlimited_and_the_heavy_ones_are_known() {
        const VALUES: u32 = 1_500_000;
        let (counters, rate) = (RateCounters::default(), rate(10, 3600, 0));
        let heavy: Vec<[u8; 1]> = (0..50).map(|nth| [nth]).collect();
        let mut passed = [0usize; 50];
        for nth in 0..VALUES {
            if nth % (VALUES / 50) == 0 {
                for (heavy, passed) in heavy.iter().zip(&mut passed) {
                    *passed += pass(&counters, heavy, rate, at(u64::from(nth) / 10_000), 20);
                }
            }
            let value = nth.to_le_bytes();
            let first = pass(&counters, &value, rate, at(u64::from(nth) / 10_000), 1);
            assert_eq!(first, 1, "one that comes for the first time passes");
        }
        assert_eq!(counters.room(), MAX_RATE_COUNTERS);
        assert!(passed.iter().all(|passed| *passed <= 20), "of 1,000 requests each: {passed:?}");
        assert!(passed.iter().all(|passed| *passed >= 10), "{passed:?}");
        assert!(size_of::<RateCounter>() * MAX_RATE_COUNTERS < 11 << 20);
    }

    #[test]
    fn requests_at_the_same_moment_do_not_pass_together() {
        let (counters, rate) = (RateCounters::default(), rate(100, 60, 0));
        let passed: usize = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|_| scope.spawn(|| pass(&counters, b"a", rate, at(0), 200))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(passed, 100);
    }
}
