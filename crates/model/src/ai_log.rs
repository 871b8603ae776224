//! One forwarded call of a gateway, as it is stored and shown.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A row of the log. Durations are in milliseconds, sizes in bytes, money in US dollars.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AiLog {
    /// A ULID.
    pub id: String,
    pub created_at: String,
    pub account_id: String,
    pub gateway_id: String,
    pub event_id: Option<String>,
    pub provider: String,
    /// As the answer names it, else the request.
    pub model: String,
    /// The operation: `chat`, `embeddings` …
    pub model_type: String,
    /// Behind the provider, without the query.
    pub path: String,
    pub status_code: u16,
    pub success: bool,
    pub cached: bool,
    pub duration: f64,
    pub tokens_in: Option<u64>,
    pub tokens_out: Option<u64>,
    pub tokens_cache_read: Option<u64>,
    pub tokens_cache_write: Option<u64>,
    pub tokens_reasoning: Option<u64>,
    /// `provider`, `estimated` or `none`.
    pub usage_source: String,
    /// Nothing if the model has no price.
    pub cost: Option<f64>,
    /// Whether the price came with the request.
    pub custom_cost: bool,
    pub metadata: Map<String, Value>,
    /// Which of several steps answered.
    pub step: u32,
    /// The dynamic route that found the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// `native`, `universal`, `compat` or `websocket`.
    pub request_type: String,
    pub request_content_type: String,
    pub response_content_type: String,
    pub request_size: u64,
    pub response_size: u64,
    /// The beginning of the bodies; nothing if they are not kept. Not part of the row as it is shown.
    #[serde(default, skip_serializing)]
    pub request_head: Option<String>,
    #[serde(default, skip_serializing)]
    pub response_head: Option<String>,
    pub request_head_complete: bool,
    pub response_head_complete: bool,
    /// Whether a token of the gateway was asked for.
    pub authentication: bool,
    /// The token it came with, if it is one of the gateway's.
    pub token_id: Option<String>,
    /// Why the call did not end well: `cancelled`, `truncated`, `provider_error`, `tool_error` …
    pub error: Option<String>,
    pub time_to_first_byte: Option<f64>,
    /// What the gateway itself took before the provider was asked.
    pub gateway_duration: f64,
    #[serde(rename = "ray_id")]
    pub ray: String,
    /// The anomaly score of the request and the rules behind it, if requests are scored.
    #[serde(default)]
    pub waf_score: Option<i64>,
    #[serde(default)]
    pub waf_rules: Vec<u64>,
    /// What people said of the answer: -1, 0 or 1, and a score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Sensitive data in it.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// What a rule found in one direction of a call. The value itself is nowhere in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// `REQUEST` or `RESPONSE`.
    pub check: String,
    pub rule: String,
    pub count: usize,
    /// Where the first match begins, in bytes.
    pub offset: usize,
    /// The first match, masked.
    pub sample: String,
}
