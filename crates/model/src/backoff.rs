//! Waits between attempts.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How waits between attempts grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backoff {
    #[default]
    Constant,
    Linear,
    Exponential,
}

impl Backoff {
    pub const WORDS: &'static [(&'static str, Self)] =
        &[("constant", Self::Constant), ("linear", Self::Linear), ("exponential", Self::Exponential)];

    /// The wait before attempt `next`, counted from 1 for the first.
    pub fn wait(self, delay: Duration, next: u32) -> Duration {
        let nth = next.saturating_sub(1);
        let factor = match self {
            Self::Constant => 1,
            Self::Linear => nth,
            Self::Exponential => 1 << nth.saturating_sub(1).min(16),
        };
        delay.saturating_mul(factor).min(Duration::from_secs(60))
    }
}
