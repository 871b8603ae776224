//! The counters of one rule that share a lock.

use std::time::Duration;

use super::rate::{Rate, RateExceeded};

/// Counters that compete for a place.
const GROUP: usize = 8;
const FIRST_GROUPS: usize = 8;
const MAX_GROUPS: usize = 1024;

/// One counter; free if its key is 0.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RateCounter {
    key: u128,
    start_ms: u64,
    shut_until_ms: u64,
    pub(crate) used: u64,
    before: u64,
    pub(crate) held: u32,
    /// What was counted here and not taken over from one that was pushed out.
    proven: u32,
    /// Of the last request, which says when the counter no longer matters.
    period_ms: u64,
}

#[derive(Debug)]
pub(crate) struct RateShard {
    /// A power of two of them.
    groups: Vec<[RateCounter; GROUP]>,
}

pub(crate) fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl RateCounter {
    /// Moves it to the period at a time.
    fn turn(&mut self, now_ms: u64, period_ms: u64) {
        let periods = now_ms.saturating_sub(self.start_ms) / period_ms;
        match periods {
            0 => {}
            1 => (self.before, self.used) = (self.used, 0),
            _ => (self.before, self.used) = (0, 0),
        }
        self.start_ms = match periods {
            0 | 1 => self.start_ms.saturating_add(periods * period_ms),
            _ => now_ms,
        };
        self.proven = self.proven.checked_shr(u32::try_from(periods).unwrap_or(u32::MAX)).unwrap_or(0);
        self.period_ms = period_ms;
    }

    pub(crate) fn add(&mut self, amount: u64) {
        self.used = self.used.saturating_add(amount);
        self.proven = self.proven.saturating_add(u32::try_from(amount).unwrap_or(u32::MAX));
    }

    /// What counts against the limit.
    fn weight(&self, now_ms: u64, period_ms: u64) -> u64 {
        let left_ms = period_ms.saturating_sub(now_ms.saturating_sub(self.start_ms)).min(period_ms);
        let before = (u128::from(self.before) * u128::from(left_ms)).div_ceil(u128::from(period_ms));
        let before = u64::try_from(before).unwrap_or(u64::MAX);
        self.used.saturating_add(u64::from(self.held)).saturating_add(before)
    }

    fn matters(&self, now_ms: u64) -> bool {
        let over_ms = self.start_ms.saturating_add(self.period_ms.saturating_mul(2));
        self.key != 0 && (self.held > 0 || self.shut_until_ms > now_ms || over_ms > now_ms)
    }

    /// When as much as one fits again.
    fn room_at(&self, now_ms: u64, rate: Rate) -> u64 {
        let period_ms = rate.period_ms();
        let end_ms = self.start_ms.saturating_add(period_ms);
        // Of `all` in one period, `fits` are left when this part of the next is over.
        let decayed_ms = |all: u64, fits: u64| {
            let over = u128::from(all.saturating_sub(fits)) * u128::from(period_ms);
            u64::try_from(over.div_ceil(u128::from(all.max(1)))).unwrap_or(period_ms)
        };
        let fits = rate.limit.saturating_sub(1);
        let held = self.used.saturating_add(u64::from(self.held));
        let at_ms = if held <= fits {
            self.start_ms.saturating_add(decayed_ms(self.before, fits - held))
        } else {
            end_ms.saturating_add(decayed_ms(held, fits))
        };
        at_ms.max(now_ms.saturating_add(1))
    }

    /// Whether one more fits; shuts the counter if that is the rule's way.
    pub(crate) fn admit(&mut self, now_ms: u64, rate: Rate) -> Result<(), RateExceeded> {
        let exceeded = |until_ms: u64| RateExceeded {
            limit: rate.limit,
            retry_after: Duration::from_millis(until_ms.saturating_sub(now_ms).max(1)),
        };
        if self.shut_until_ms > now_ms {
            return Err(exceeded(self.shut_until_ms));
        }
        if self.weight(now_ms, rate.period_ms()) < rate.limit {
            return Ok(());
        }
        if rate.mitigation.is_zero() {
            return Err(exceeded(self.room_at(now_ms, rate)));
        }
        // What is only held may come to nothing: it refuses, but shuts nothing.
        if self.weight(now_ms, rate.period_ms()) - u64::from(self.held) >= rate.limit {
            self.shut_until_ms = now_ms.saturating_add(ms(rate.mitigation));
            return Err(exceeded(self.shut_until_ms));
        }
        Err(exceeded(now_ms.saturating_add(1000)))
    }
}

impl RateShard {
    pub(crate) const MAX_COUNTERS: usize = MAX_GROUPS * GROUP;

    pub(crate) fn new() -> Self {
        Self { groups: vec![[RateCounter::default(); GROUP]; FIRST_GROUPS] }
    }

    fn group(&mut self, key: u128) -> Option<&mut [RateCounter; GROUP]> {
        // INVARIANT: the number of groups is a power of two, so this is one of them.
        let nth = (key >> 64) as usize & (self.groups.len() - 1);
        self.groups.get_mut(nth)
    }

    /// Doubles the groups.
    fn grow(&mut self, now_ms: u64) {
        let groups = vec![[RateCounter::default(); GROUP]; self.groups.len() * 2];
        for counter in std::mem::replace(&mut self.groups, groups).into_iter().flatten() {
            if counter.matters(now_ms)
                && let Some(place) =
                    self.group(counter.key).and_then(|group| group.iter_mut().find(|c| c.key == 0))
            {
                *place = counter;
            }
        }
    }

    /// The counter of a key at a time, made if there is none.
    pub(crate) fn counter(&mut self, key: u128, now_ms: u64, rate: Rate) -> Option<&mut RateCounter> {
        let period_ms = rate.period_ms();
        let place = loop {
            let has_all_groups = self.groups.len() >= MAX_GROUPS;
            let group = self.group(key)?;
            if let Some(place) = group.iter().position(|counter| counter.key == key) {
                break place;
            }
            let fresh = RateCounter { key, start_ms: now_ms, period_ms, ..RateCounter::default() };
            if let Some(place) = group.iter().position(|counter| !counter.matters(now_ms)) {
                *group.get_mut(place)? = fresh;
                break place;
            }
            if !has_all_groups {
                self.grow(now_ms);
                continue;
            }
            let weighs = |counter: &RateCounter| {
                (counter.shut_until_ms.max(now_ms), counter.proven.saturating_add(counter.held))
            };
            let (place, least) = group.iter().enumerate().min_by_key(|(_, counter)| weighs(counter))?;
            let inherited = least.weight(now_ms, least.period_ms).min(rate.limit.saturating_sub(1));
            *group.get_mut(place)? = RateCounter { used: inherited, ..fresh };
            break place;
        };
        let counter = self.group(key)?.get_mut(place)?;
        counter.turn(now_ms, period_ms);
        Some(counter)
    }

    /// The counter of a key, if there is one.
    pub(crate) fn known(&mut self, key: u128) -> Option<&mut RateCounter> {
        self.group(key)?.iter_mut().find(|counter| counter.key == key)
    }

    /// How many counters there is room for now.
    pub(crate) fn room(&self) -> usize {
        self.groups.len() * GROUP
    }
}
