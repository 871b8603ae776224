//! What a call used, read from a copy of the answer on its way to the client.
//!
//! ```text
//! bytes -> coding undone -> framing (JSON, SSE, lines, event stream, WebSocket) -> objects with counts -> Usage
//! ```
//! Counts are kept in one convention, whatever the provider's: input holds what was read from and
//! written to a cache, output holds reasoning.

mod billable;
mod counts;
pub(crate) mod event_stream;
pub(crate) mod lines;
mod request;
mod tap;
mod web_socket;

pub use billable::{Billable, billable};
pub use request::{RequestFacts, facts};
pub use tap::{Report, Tap};

/// Bytes that a token is taken for if nobody counted: English and code have about four.
pub const BYTES_PER_TOKEN: u64 = 4;

/// Tokens of one call. What the provider did not say is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// All tokens read, those of a cache among them.
    pub input: Option<u64>,
    /// All tokens made, reasoning among them.
    pub output: Option<u64>,
    pub cache_read: Option<u64>,
    /// Written to a cache, for however long.
    pub cache_write: Option<u64>,
    /// The part of them that is kept for an hour.
    pub cache_write_1h: Option<u64>,
    pub reasoning: Option<u64>,
    /// What the provider itself says that the call costs, in 10⁻⁹ US dollars.
    pub reported_cost_nanos: Option<u64>,
}

impl Usage {
    /// Tokens read and made.
    pub fn of_tokens(input: u64, output: u64) -> Self {
        Self { input: Some(input), output: Some(output), ..Self::default() }
    }

    /// All tokens.
    pub fn tokens(&self) -> u64 {
        self.input.unwrap_or(0).saturating_add(self.output.unwrap_or(0))
    }

    /// Later counts replace earlier ones: streams send cumulative ones.
    pub(crate) fn merge(&mut self, later: Self) {
        self.input = later.input.or(self.input);
        self.output = later.output.or(self.output);
        self.cache_read = later.cache_read.or(self.cache_read);
        self.cache_write = later.cache_write.or(self.cache_write);
        self.cache_write_1h = later.cache_write_1h.or(self.cache_write_1h);
        self.reasoning = later.reasoning.or(self.reasoning);
        self.reported_cost_nanos = later.reported_cost_nanos.or(self.reported_cost_nanos);
    }

    /// Counts of one answer of several in a connection.
    pub(crate) fn add(&mut self, other: Self) {
        let sum = |all: Option<u64>, one: Option<u64>| match (all, one) {
            (Some(all), Some(one)) => Some(all.saturating_add(one)),
            (all, one) => all.or(one),
        };
        self.input = sum(self.input, other.input);
        self.output = sum(self.output, other.output);
        self.cache_read = sum(self.cache_read, other.cache_read);
        self.cache_write = sum(self.cache_write, other.cache_write);
        self.cache_write_1h = sum(self.cache_write_1h, other.cache_write_1h);
        self.reasoning = sum(self.reasoning, other.reasoning);
        self.reported_cost_nanos = sum(self.reported_cost_nanos, other.reported_cost_nanos);
    }

    /// Whether anything was counted.
    pub fn is_known(&self) -> bool {
        self.input.is_some() || self.output.is_some()
    }
}

/// Where the counts are from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsageSource {
    Provider,
    /// By the length of the texts: four bytes a token.
    Estimated,
    #[default]
    None,
}

impl UsageSource {
    pub fn word(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Estimated => "estimated",
            Self::None => "none",
        }
    }
}

#[cfg(test)]
mod tests;
