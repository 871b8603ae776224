//! Limits of requests, tokens and money: reserved before a call, settled after it.
//!
//! All limits of a call are taken at once or not at all, under one lock, so calls at the same moment
//! cannot overspend together. What a call may use at most is reserved; what it did use replaces that. Where that
//! does not fit, but what it uses at least does, all that is left is reserved: then no other call passes, so a
//! limit is overspent by one call at the most.
//!
//! A counter lasts as long as its window matters. Of one limit there are at most [`MAX_COUNTERS_OF_LIMIT`]; what
//! more values there are, which callers may have invented, share one counter.

mod counters;
mod ledger;

use std::time::Duration;

pub use counters::MAX_COUNTERS_OF_LIMIT;
pub use ledger::{Counted, Ledger, Reservation};

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
    /// What is reserved where there is as much.
    pub most: Amounts,
}

/// What a call did use; `None` where nobody knows, which counts as what was reserved.
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
