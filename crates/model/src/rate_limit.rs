//! What a rule of the phase `http_ratelimit` counts, in the fields of the management API.

use serde::{Deserialize, Serialize};

/// How often requests may come before the rule acts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    /// Expressions whose values have a counter each, such as `ip.src`.
    pub characteristics: Vec<String>,
    /// In seconds.
    pub period: u64,
    /// How many requests may come in a period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_period: Option<u64>,
    /// Which requests count; those that the rule is for if it is empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub counting_expression: String,
    /// In seconds, how long the rule goes on once the rate is exceeded; 0 if only for as long as it is.
    #[serde(default)]
    pub mitigation_timeout: u64,
    /// Whether only requests count that an origin was asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requests_to_origin: bool,
    /// In place of `requests_per_period`: what the responses of a period may add up to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_per_period: Option<u64>,
    /// The response field that says what a response adds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub score_response_header_name: String,
}
