//! Limits of requests, tokens and money: reserved before a call, settled after it.
//!
//! What a call may use at most is reserved in [`counters`]; what it did use replaces that.

mod reserve;

use std::time::Duration;

use model::Measure;

pub use counters::{Ledger, MAX_COUNTERS_OF_LIMIT};
pub use reserve::{Reservation, reserve};

/// Who calls, for the counters.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'c> {
    /// `account/gateway`
    pub gateway: &'c str,
    pub token: Option<&'c str>,
    pub provider: &'c str,
    /// `None` if what is asked cannot be read; empty if no model is asked.
    pub model: Option<&'c str>,
    /// The name that the model has in the list of prices, which is one for all spellings and versions of it.
    pub priced_model: Option<&'c str>,
    pub metadata: &'c super::metadata::Metadata,
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

/// What a call may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// What must be left for it to pass.
    pub least: Amounts,
    /// What is reserved if there is as much.
    pub most: Amounts,
}

/// What a call did use; `None` if nobody knows, which counts as what was reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    pub tokens: Option<u64>,
    pub cost_nanos: Option<u64>,
}

impl Used {
    pub const NOTHING: Self = Self { tokens: Some(0), cost_nanos: Some(0) };
    pub const AS_RESERVED: Self = Self { tokens: None, cost_nanos: None };

    /// These, and attempts before it that were sent and not answered.
    #[must_use]
    pub fn and(self, attempt: Amounts, attempts: u32) -> Self {
        let more = |used: u64, of_one: u64| used.saturating_add(of_one.saturating_mul(u64::from(attempts)));
        Self {
            tokens: self.tokens.map(|used| more(used, attempt.tokens)),
            cost_nanos: self.cost_nanos.map(|used| more(used, attempt.cost_nanos)),
        }
    }

    fn of(self, measure: Measure) -> Option<u64> {
        match measure {
            Measure::Requests => Some(1),
            Measure::Tokens => self.tokens,
            Measure::Cost => self.cost_nanos,
        }
    }
}

impl From<Amounts> for Used {
    fn from(amounts: Amounts) -> Self {
        Self { tokens: Some(amounts.tokens), cost_nanos: Some(amounts.cost_nanos) }
    }
}

/// A limit that a call would pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    pub measure: Measure,
    /// What is left, less than the call would take.
    pub remaining: u64,
    pub retry_after: Duration,
}
