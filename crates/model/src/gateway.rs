//! AI gateways, their tokens and the providers behind them.

use serde::{Deserialize, Serialize};

use std::time::Duration;

use super::id::{AccountId, GatewayId, TokenId};
use super::{
    Backoff, ContentPolicy, DlpSettings, Limit, LogCap, LogStrategy, McpServer, PayloadKey, Secret,
    SpanCollector, SpendLimits, milliseconds,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gateway {
    pub account: AccountId,
    pub id: GatewayId,
    /// Whether requests need a token of this gateway.
    pub authentication: bool,
    pub settings: GatewaySettings,
    /// When it was made and last changed (RFC 3339); empty if a file declares it.
    #[serde(default)]
    pub created_on: String,
    #[serde(default)]
    pub modified_on: String,
}

/// What a gateway does with its calls; fields of a request win if they say otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GatewaySettings {
    /// Whether each forwarded call leaves a row in the log.
    pub collect_logs: bool,
    /// Whether the beginnings of its bodies are in the row.
    pub collect_log_payloads: bool,
    /// How much of each body, in bytes.
    pub log_payload_bytes: usize,
    /// Most rows that are kept; `None` for as many as the file has room for.
    pub log_management: Option<u64>,
    pub log_management_strategy: LogStrategy,
    /// Whether what a caller says that a call costs counts towards limits.
    pub caller_prices: bool,
    /// What a call without a price counts towards limits of money, in 10⁻⁹ dollars. If none, it is refused.
    pub unpriced_call_nanos: Option<u64>,
    /// How long answers are kept for the same question; zero for not at all.
    #[serde(with = "milliseconds")]
    pub cache_ttl: Duration,
    /// Whether callers get answers to the questions of others.
    pub shares_cache: bool,
    /// Whether kept answers are given no more after the gateway has changed.
    pub cache_invalidate_on_update: bool,
    pub retry_max_attempts: u32,
    #[serde(with = "milliseconds")]
    pub retry_delay: Duration,
    pub retry_backoff: Backoff,
    /// How long the first byte of an answer is waited for; zero for the upstream's own limit.
    #[serde(with = "milliseconds")]
    pub request_timeout: Duration,
    /// How long an event stream may be silent before a comment keeps it alive; zero for never.
    #[serde(with = "milliseconds")]
    pub heartbeat: Duration,
    /// Whether streamed chat completions are asked for their usage if the client did not.
    pub include_usage: bool,
    pub limits: Vec<Limit>,
    /// Budgets, which count beside the limits.
    pub spend_limits: SpendLimits,
    /// What is done about sensitive data in what is asked, and in what is answered.
    pub scan_requests: ScanMode,
    pub scan_responses: ScanMode,
    /// The same by policies, beside it.
    pub dlp: DlpSettings,
    /// What was found goes into the event, sealed with this key.
    pub payload_key: Option<PayloadKey>,
    /// The paranoia level that requests are scored at, off their path; nothing if they are not.
    pub waf_paranoia_level: Option<u8>,
    /// Who judges what is asked before a provider hears of it, and what is answered before the caller does.
    pub guardrail: Option<Guardrail>,
    /// What comes of kinds of content that the guardrail finds.
    pub content_policy: ContentPolicy,
    /// Servers of tools, by names that differ.
    pub mcp_servers: Vec<McpServer>,
    /// Who gets a span of each call.
    pub otel: Vec<SpanCollector>,
}

/// A service that judges calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guardrail {
    /// What is asked, with `POST`.
    pub url: String,
    /// The field `Authorization` for it, as a file has it.
    #[serde(skip)]
    pub authorization: Option<Secret>,
    /// The same as the API keeps it, sealed by the vault of the crate `gateway`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_authorization: Option<String>,
    /// Longest wait for its answer.
    #[serde(with = "milliseconds")]
    pub timeout: Duration,
    pub on_failure: GuardrailFailure,
    pub stages: Vec<CallStage>,
    /// Whether it may be on this machine or in a private network, as a file says by naming it.
    #[serde(skip)]
    pub may_be_private: bool,
}

/// What of a call is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallStage {
    /// What is asked, before a provider hears of it.
    Request,
    /// What a provider answers, before the client hears of it.
    Response,
}

/// What becomes of calls if a guardrail does not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GuardrailFailure {
    #[default]
    Block,
    Pass,
}

/// What is done about sensitive data in a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScanMode {
    #[default]
    Off,
    /// Found in a copy, reported in the log and as events.
    Log,
    /// The call is not forwarded, or its answer not passed on.
    Block,
}

impl GatewaySettings {
    /// How many rows are kept, if there is a number.
    pub fn log_cap(&self) -> Option<LogCap> {
        self.log_management.map(|rows| LogCap { rows, strategy: self.log_management_strategy })
    }
}

impl Default for GatewaySettings {
    fn default() -> Self {
        Self {
            collect_logs: true,
            collect_log_payloads: true,
            log_payload_bytes: 4 << 10,
            log_management: None,
            log_management_strategy: LogStrategy::default(),
            caller_prices: false,
            unpriced_call_nanos: None,
            cache_ttl: Duration::ZERO,
            shares_cache: false,
            cache_invalidate_on_update: false,
            retry_max_attempts: 1,
            retry_delay: Duration::ZERO,
            retry_backoff: Backoff::default(),
            request_timeout: Duration::ZERO,
            heartbeat: Duration::ZERO,
            include_usage: false,
            limits: Vec::new(),
            spend_limits: SpendLimits::default(),
            scan_requests: ScanMode::Off,
            scan_responses: ScanMode::Off,
            dlp: DlpSettings::default(),
            payload_key: None,
            waf_paranoia_level: None,
            guardrail: None,
            content_policy: ContentPolicy::default(),
            mcp_servers: Vec::new(),
            otel: Vec::new(),
        }
    }
}

/// A gateway token. The token itself is shown once; only a hash is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayToken {
    pub id: TokenId,
    pub account: AccountId,
    pub gateway: GatewayId,
    pub name: String,
    /// SHA-256 of the token, as hex.
    pub hash: String,
    /// When it was made (RFC 3339); empty if nobody wrote that down.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub created_on: String,
    /// Seconds since the epoch; nothing if it lasts until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// Globs of `server/tool`: the tools that its callers may use; nothing for all of the gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
}

/// A provider's key that a gateway keeps for its callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderKey {
    pub account: AccountId,
    pub gateway: GatewayId,
    /// The slug.
    pub provider: String,
    /// The host it may be sent to.
    pub authority: String,
    pub alias: String,
    pub weight: u32,
    /// As the vault of the crate `gateway` seals it.
    pub sealed: String,
}

/// A provider: the slug in the path and the base its paths are added to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    pub slug: String,
    /// `https://host[:port][/path]`
    pub base_url: String,
    /// Whether it may be on this machine or in a private network.
    pub allow_private: bool,
}
