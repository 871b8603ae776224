//! Which responses are kept and for how long, in the fields of the management API.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::cache_key::CacheKeyParameters;
use super::word::serde_by_word;

/// What a `set_cache_settings` rule says of the responses to its requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheParameters {
    /// Whether they may be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge_ttl: Option<EdgeTtl>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser_ttl: Option<BrowserTtl>,
    /// What their cache key is made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_key: Option<CacheKeyParameters>,
}

/// How long responses are served again without asking their origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeTtl {
    pub mode: EdgeTtlMode,
    /// In seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<u32>,
    /// How long those of some statuses, whatever else is said. The first that has a status holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status_code_ttl: Vec<StatusTtl>,
}

/// How long responses of one status are served again, or of some that follow each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusTtl {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_code: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_code_range: Option<StatusRange>,
    /// In seconds; -1 if they are not kept.
    pub value: i32,
}

/// Statuses from one to another, both among them; without an end that is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusRange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u16>,
}

/// How long browsers may use responses that are kept here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrowserTtl {
    pub mode: BrowserTtlMode,
    /// In seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<u32>,
}

/// Who says how long browsers may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BrowserTtlMode {
    /// The origin.
    RespectOrigin,
    /// The origin; if it says nothing, they may not.
    BypassByDefault,
    /// The default, whatever the origin says.
    OverrideOrigin,
    /// They may not.
    Bypass,
}

serde_by_word!(BrowserTtlMode, "mode");

impl BrowserTtlMode {
    pub const ALL: [Self; 4] =
        [Self::RespectOrigin, Self::BypassByDefault, Self::OverrideOrigin, Self::Bypass];

    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::RespectOrigin => "respect_origin",
            Self::BypassByDefault => "bypass_by_default",
            Self::OverrideOrigin => "override_origin",
            Self::Bypass => "bypass",
        }
    }
}

impl StatusTtl {
    /// What statuses there are to say something of.
    pub const STATUSES: RangeInclusive<u16> = 100..=999;

    /// Whether it is about a status.
    pub fn has(&self, status: u16) -> bool {
        let in_range = |range: &StatusRange| {
            range.from.is_none_or(|from| status >= from) && range.to.is_none_or(|to| status <= to)
        };
        self.status_code == Some(status) || self.status_code_range.as_ref().is_some_and(in_range)
    }
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

    /// What is said of a status in particular: seconds, or -1.
    pub fn of_status(&self, status: u16) -> Option<i32> {
        self.status_code_ttl.iter().find(|ttl| ttl.has(status)).map(|ttl| ttl.value)
    }

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
        if self.edge_ttl.is_some() {
            others.edge_ttl.clone_from(&self.edge_ttl);
        }
        others.browser_ttl = self.browser_ttl.or(others.browser_ttl);
        if self.cache_key.is_some() {
            others.cache_key.clone_from(&self.cache_key);
        }
    }
}
