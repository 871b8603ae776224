//! Which responses are kept and for how long, in the fields of the management API.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::word::serde_by_word;

/// What a `set_cache_settings` rule says of the responses to its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheParameters {
    /// Whether they may be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge_ttl: Option<EdgeTtl>,
}

/// How long responses are served again without asking their origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeTtl {
    pub mode: EdgeTtlMode,
    /// In seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<u32>,
}

/// Who says how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EdgeTtlMode {
    /// The origin, or the default if it says nothing.
    RespectOrigin,
    /// The origin alone.
    BypassByDefault,
    /// The default, whatever the origin says.
    OverrideOrigin,
}

serde_by_word!(EdgeTtlMode, "mode");

impl EdgeTtl {
    /// Values of a default.
    pub const SECONDS: RangeInclusive<u32> = 0..=31_536_000;

    /// How long a response is kept if its origin says nothing about that.
    pub fn usual_seconds(&self) -> Option<u32> {
        self.default.filter(|_| self.mode != EdgeTtlMode::BypassByDefault)
    }
}

impl EdgeTtlMode {
    pub const ALL: [Self; 3] = [Self::RespectOrigin, Self::BypassByDefault, Self::OverrideOrigin];

    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::RespectOrigin => "respect_origin",
            Self::BypassByDefault => "bypass_by_default",
            Self::OverrideOrigin => "override_origin",
        }
    }
}

impl CacheParameters {
    /// Puts what these set in the place of what others set.
    pub fn put_into(&self, others: &mut Self) {
        others.cache = self.cache.or(others.cache);
        others.edge_ttl = self.edge_ttl.or(others.edge_ttl);
    }
}
