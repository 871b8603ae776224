//! What is reserved of all counters, and settled.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_queue::SegQueue;
use parking_lot::Mutex;

use super::table::Table;
use super::{Key, Window};
use model::Counted;

/// What a request asks of one counter.
#[derive(Clone, Debug)]
pub struct Claim {
    pub key: Key,
    pub window: Window,
    /// How much may be used in a window.
    pub limit: u64,
    /// What must be left for the request to pass.
    pub least: u64,
    /// What is reserved if as much is left.
    pub most: u64,
}

/// A claim that cannot be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// Which claim, from 0.
    pub claim: usize,
    /// What is left, less than the claim asks for.
    pub remaining: u64,
    pub retry_after: Duration,
}

/// What was reserved. It is given back if it is dropped before it was settled.
#[derive(Debug)]
pub struct Reserved {
    ledger: Arc<Ledger>,
    taken: Vec<Taken>,
    /// For each claim, what is left if the request uses the least.
    pub remaining: Vec<u64>,
}

/// What was taken of one counter.
#[derive(Clone, Debug)]
struct Taken {
    key: Key,
    amount: u64,
    number: u64,
    window: Window,
}

impl Reserved {
    /// Replaces what was reserved by what was used: `used` is given the number of a claim, from 0, and what was
    /// reserved for it. Never waits. Returns what was counted.
    pub fn settle(mut self, used: impl Fn(usize, u64) -> u64) -> Vec<Counted> {
        self.close(used)
    }

    fn close(&mut self, used: impl Fn(usize, u64) -> u64) -> Vec<Counted> {
        let mut counted = Vec::with_capacity(self.taken.len());
        for (claim, taken) in std::mem::take(&mut self.taken).into_iter().enumerate() {
            let used = used(claim, taken.amount);
            if used > 0 {
                counted.push(Counted {
                    key: taken.key.text.clone(),
                    limit_bytes: taken.key.limit_bytes,
                    window: taken.number,
                    used,
                    until: taken.window.end(taken.number.saturating_add(1)),
                });
            }
            self.ledger.settled.push(Settled { taken, used });
        }
        counted
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.close(|_, _| 0);
    }
}

/// What a request used in place of what was reserved for it.
#[derive(Debug)]
struct Settled {
    taken: Taken,
    used: u64,
}

/// All counters of the process.
#[derive(Debug, Default)]
pub struct Ledger {
    counters: Mutex<Table>,
    /// Not counted yet: the next request counts them before it is judged. A thread that settles can lose its
    /// processor for long, and must not hold the lock meanwhile.
    settled: SegQueue<Settled>,
}

impl Ledger {
    /// Meets all claims, or none.
    ///
    /// # Errors
    /// The first claim that cannot be met.
    pub fn reserve(self: &Arc<Self>, claims: Vec<Claim>, now: Duration) -> Result<Reserved, Unmet> {
        let mut taken = Vec::with_capacity(claims.len());
        let mut remaining = Vec::with_capacity(claims.len());
        let mut counters = self.counters.lock();
        while let Some(Settled { taken, used }) = self.settled.pop() {
            if let Some(counter) = counters.by_key.get_mut(&taken.key.text) {
                counter.settle(taken.amount, used);
            }
        }
        counters.look(now);
        for (nth, Claim { key, window, limit, least, most }) in claims.into_iter().enumerate() {
            let key = counters.place(key);
            let counter = counters.counter(&key);
            counter.turn(window, now);
            let left = limit.saturating_sub(counter.held(window, now));
            if least > left || left == 0 && most > 0 {
                return Err(Unmet { claim: nth, remaining: left, retry_after: window.until_next(now) });
            }
            let (amount, number) = (most.clamp(least, left), counter.window);
            taken.push(Taken { key, amount, number, window });
            remaining.push(left - least);
        }
        for Taken { key, amount, .. } in &taken {
            if let Some(counter) = counters.by_key.get_mut(&key.text) {
                counter.reserved = counter.reserved.saturating_add(*amount);
            }
        }
        Ok(Reserved { ledger: Arc::clone(self), taken, remaining })
    }

    /// Counts what requests to a process before this one used.
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
