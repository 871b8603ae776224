//! Limits of requests, tokens and money, and what was counted towards them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::milliseconds;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

impl Measure {
    /// A limit in whole units: dollars become 10⁻⁹ dollars. `None` if it is negative, too large, or a part of a request or
    /// token.
    pub fn amount(self, number: f64) -> Option<u64> {
        let number = if self == Self::Cost { number * 1e9 } else { number };
        let is_whole = self == Self::Cost || number.fract() == 0.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
        ((0.0..1e18).contains(&number) && is_whole).then(|| number.round() as u64)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
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

impl TryFrom<String> for Dimension {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let expected = || format!("expected `token`, `model`, `provider` or `metadata.KEY`, found `{text}`");
        Self::parse(&text).ok_or_else(expected)
    }
}

impl From<Dimension> for String {
    fn from(dimension: Dimension) -> Self {
        match dimension {
            Dimension::Token => "token".to_owned(),
            Dimension::Model => "model".to_owned(),
            Dimension::Provider => "provider".to_owned(),
            Dimension::Metadata(key) => format!("metadata.{key}"),
        }
    }
}

/// Calls that a limit counts: those whose value of a dimension is one of these.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LimitFilter {
    pub dimension: Dimension,
    pub values: Vec<String>,
}

/// Most filters of a limit, and most values of a filter.
pub const MAX_LIMIT_FILTERS: usize = 16;
const MAX_FILTER_VALUES: usize = 256;

impl LimitFilter {
    /// # Errors
    /// One sentence: it has no values, or too many.
    pub fn new(dimension: Dimension, values: Vec<String>) -> Result<Self, String> {
        if !(1..=MAX_FILTER_VALUES).contains(&values.len()) {
            let (word, found) = (String::from(dimension), values.len());
            return Err(format!("expected 1 to {MAX_FILTER_VALUES} values of `{word}`, found {found}"));
        }
        Ok(Self { dimension, values })
    }
}

/// The filters of a limit, by the words of their dimensions.
///
/// # Errors
/// One sentence: a word is no dimension, or there are too many filters or values, or a filter without values.
pub fn limit_filters(written: &BTreeMap<String, Vec<String>>) -> Result<Vec<LimitFilter>, String> {
    if written.len() > MAX_LIMIT_FILTERS {
        return Err(format!("a limit has at most {MAX_LIMIT_FILTERS} filters"));
    }
    let filter = |(word, values): (&String, &Vec<String>)| {
        LimitFilter::new(Dimension::try_from(word.clone())?, values.clone())
    };
    written.iter().map(filter).collect()
}

/// A limit of a gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Limit {
    /// Separate counters for each of these; one for the gateway if there are none.
    pub by: Vec<Dimension>,
    /// What of all calls it counts: those that pass every one of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<LimitFilter>,
    pub measure: Measure,
    /// Requests, tokens or 10⁻⁹ dollars.
    pub limit: u64,
    #[serde(with = "milliseconds")]
    pub interval: Duration,
    pub technique: Technique,
}

impl Limit {
    /// Whether the body has to be known before the call is let through.
    pub fn needs_body(&self) -> bool {
        let filters_models = || self.only.iter().any(|filter| filter.dimension == Dimension::Model);
        self.measure != Measure::Requests || self.by.contains(&Dimension::Model) || filters_models()
    }
}

/// What a request added to a counter, to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    pub key: String,
    /// Of `key`, the bytes that name the limit.
    pub limit_bytes: usize,
    /// Number of the window since the epoch.
    pub window: u64,
    pub used: u64,
    /// Since the epoch; from then on it no longer matters.
    pub until: Duration,
}
