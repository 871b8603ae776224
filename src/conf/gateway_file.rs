//! `[[gateways]]` and `[[providers]]` as written.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use toml::de::DeValue;

use super::route_file::{self, RouteFile};
use super::table::{FromToml, Located, Refusal, Table, Words};
use super::units::{Bytes, Dollars};
use model::gateway::{CallStage, GatewaySettings, GuardrailFailure, ScanMode};
use model::{Backoff, ContentCategory, DlpAction, LogCap, LogStrategy, Measure, Secret, Technique};

#[derive(Clone, Debug)]
pub struct GatewayFile {
    pub account: Located<String>,
    pub id: Located<String>,
    pub authentication: bool,
    pub settings: GatewaySettings,
    pub waf_paranoia_level: Option<Located<usize>>,
    pub retry_max_attempts: Option<Located<usize>>,
    pub limits: Vec<LimitFile>,
    pub guardrail: Option<GuardrailFile>,
    pub routes: Vec<RouteFile>,
    pub mcp_servers: Vec<McpServerFile>,
    pub dlp_policies: Vec<DlpPolicyFile>,
    pub otel: Vec<SpanCollectorFile>,
}

/// `[[gateways.otel]]`.
#[derive(Clone, Debug)]
pub struct SpanCollectorFile {
    pub url: Located<String>,
    pub authorization: Option<Located<String>>,
    pub headers: Option<Located<BTreeMap<String, Secret>>>,
}

/// `[[gateways.dlp_policies]]`.
#[derive(Clone, Debug)]
pub struct DlpPolicyFile {
    pub id: Located<String>,
    pub action: DlpAction,
    pub checks: Option<Located<Vec<CallStage>>>,
    pub profiles: Located<Vec<String>>,
}

/// `[[gateways.mcp_servers]]`.
#[derive(Clone, Debug)]
pub struct McpServerFile {
    pub name: Located<String>,
    pub url: Located<String>,
    pub allow_private: bool,
    pub tools: Option<Located<Vec<String>>>,
}

/// `[gateways.guardrail]`.
#[derive(Clone, Debug)]
pub struct GuardrailFile {
    pub url: Located<String>,
    pub authorization: Option<Located<String>>,
    pub timeout: Duration,
    pub on_failure: GuardrailFailure,
    /// What comes of kinds of content that it finds.
    pub prompt: Option<Located<BTreeMap<ContentCategory, DlpAction>>>,
    pub response: Option<Located<BTreeMap<ContentCategory, DlpAction>>>,
    /// What it judges; of none written what is asked.
    pub stages: Option<Located<Vec<CallStage>>>,
}

#[derive(Clone, Debug)]
pub struct LimitFile {
    pub measure: Measure,
    pub by: Option<Located<Vec<String>>>,
    /// Values by the words of dimensions.
    pub only: Option<Located<BTreeMap<String, Vec<String>>>>,
    pub limit: Located<f64>,
    pub interval: Located<Duration>,
    pub technique: Technique,
}

#[derive(Clone, Debug)]
pub struct ProviderFile {
    pub slug: Located<String>,
    pub base_url: Located<String>,
    pub allow_private: bool,
}

pub(super) fn gateway(mut table: Table<'_>) -> Option<GatewayFile> {
    let (account, id) = (table.required("account"), table.required("id"));
    let authentication = table.or("authentication", true);
    let default = GatewaySettings::default();
    let settings = GatewaySettings {
        collect_logs: table.or("collect_logs", default.collect_logs),
        collect_log_payloads: table.or("collect_log_payloads", default.collect_log_payloads),
        log_payload_bytes: table.or("log_payload", PayloadSize(default.log_payload_bytes)).0,
        log_management: table.get::<LogRows>("log_management").map(|rows| rows.value.0),
        log_management_strategy: table.or("log_management_strategy", default.log_management_strategy),
        caller_prices: table.or("caller_prices", default.caller_prices),
        unpriced_call_nanos: table.get::<Dollars>("unpriced_call_cost").map(|cost| cost.value.0),
        cache_ttl: table.or("cache_ttl", default.cache_ttl),
        shares_cache: table.or("cache_shared", default.shares_cache),
        cache_invalidate_on_update: table
            .or("cache_invalidate_on_update", default.cache_invalidate_on_update),
        retry_delay: table.or("retry_delay", default.retry_delay),
        retry_backoff: table.or("retry_backoff", default.retry_backoff),
        request_timeout: table.or("request_timeout", default.request_timeout),
        heartbeat: table.or("heartbeat", default.heartbeat),
        include_usage: table.or("include_usage", default.include_usage),
        ..default
    };
    let settings = match table.table("sensitive_data") {
        Some(mut table) => {
            let scan_requests = table.or("requests", ScanMode::Log);
            let scan_responses = table.or("responses", ScanMode::Log);
            let payload_key = table.get("payload_key").map(|located| located.value);
            table.finish();
            GatewaySettings { scan_requests, scan_responses, payload_key, ..settings }
        }
        None => settings,
    };
    let waf_paranoia_level = table.table("waf").map(|mut table| {
        let here = table.place();
        let level = table.get("paranoia_level").unwrap_or(Located { value: 1, place: here });
        table.finish();
        level
    });
    let retry_max_attempts = table.get("retry_max_attempts");
    let limits = table.tables("limits").into_iter().filter_map(limit).collect();
    let guardrail = table.table("guardrail").and_then(guardrail);
    let routes = table.tables("routes").into_iter().filter_map(route_file::route).collect();
    let mcp_servers = table.tables("mcp_servers").into_iter().filter_map(mcp_server).collect();
    let dlp_policies = table.tables("dlp_policies").into_iter().filter_map(dlp_policy).collect();
    let otel = table.tables("otel").into_iter().filter_map(span_collector).collect();
    table.finish();
    Some(GatewayFile {
        account: account?,
        id: id?,
        authentication,
        settings,
        waf_paranoia_level,
        retry_max_attempts,
        limits,
        guardrail,
        routes,
        mcp_servers,
        dlp_policies,
        otel,
    })
}

fn dlp_policy(mut table: Table<'_>) -> Option<DlpPolicyFile> {
    let (id, action) = (table.required("id"), table.or("action", DlpAction::Flag));
    let (checks, profiles) = (table.get("check"), table.required("profiles"));
    table.finish();
    Some(DlpPolicyFile { id: id?, action, checks, profiles: profiles? })
}

fn span_collector(mut table: Table<'_>) -> Option<SpanCollectorFile> {
    let (url, authorization) = (table.required("url"), table.get("authorization"));
    let headers = table.get("headers");
    table.finish();
    Some(SpanCollectorFile { url: url?, authorization, headers })
}

fn mcp_server(mut table: Table<'_>) -> Option<McpServerFile> {
    let (name, url) = (table.required("name"), table.required("url"));
    let (allow_private, tools) = (table.or("allow_private", false), table.get("tools"));
    table.finish();
    Some(McpServerFile { name: name?, url: url?, allow_private, tools })
}

fn guardrail(mut table: Table<'_>) -> Option<GuardrailFile> {
    let (url, authorization) = (table.required("url"), table.get("authorization"));
    let timeout = table.or("timeout", Duration::from_secs(5));
    let (on_failure, stages) = (table.or("on_failure", GuardrailFailure::Block), table.get("stages"));
    let (prompt, response) = (table.get("prompt"), table.get("response"));
    table.finish();
    Some(GuardrailFile { url: url?, authorization, timeout, on_failure, prompt, response, stages })
}

fn limit(mut table: Table<'_>) -> Option<LimitFile> {
    let (measure, limit, interval) =
        (table.required("measure"), table.required("limit"), table.required("interval"));
    let (by, only) = (table.get("by"), table.get("only"));
    let technique = table.or("technique", Technique::default());
    table.finish();
    Some(LimitFile { measure: measure?.value, by, only, limit: limit?, interval: interval?, technique })
}

pub(super) fn provider(mut table: Table<'_>) -> Option<ProviderFile> {
    let (slug, base_url) = (table.required("slug"), table.required("base_url"));
    let allow_private = table.or("allow_private", false);
    table.finish();
    Some(ProviderFile { slug: slug?, base_url: base_url?, allow_private })
}

impl Words for Measure {
    const WORDS: &'static [(&'static str, Self)] = Self::WORDS;
}

impl Words for Technique {
    const WORDS: &'static [(&'static str, Self)] = Self::WORDS;
}

impl Words for Backoff {
    const WORDS: &'static [(&'static str, Self)] = Self::WORDS;
}

impl Words for CallStage {
    const WORDS: &'static [(&'static str, Self)] =
        &[("request", Self::Request), ("response", Self::Response)];
}

impl Words for DlpAction {
    const WORDS: &'static [(&'static str, Self)] = &[("flag", Self::Flag), ("block", Self::Block)];
}

impl Words for LogStrategy {
    const WORDS: &'static [(&'static str, Self)] =
        &[("delete_oldest", Self::DeleteOldest), ("stop_inserting", Self::StopInserting)];
}

impl Words for GuardrailFailure {
    const WORDS: &'static [(&'static str, Self)] = &[("block", Self::Block), ("pass", Self::Pass)];
}

impl Words for ScanMode {
    const WORDS: &'static [(&'static str, Self)] =
        &[("off", Self::Off), ("log", Self::Log), ("block", Self::Block)];
}

/// What comes of kinds of content, by their words.
impl FromToml for BTreeMap<ContentCategory, DlpAction> {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let DeValue::Table(entries) = value else {
            return Err(Refusal::Type("a table of kinds and actions"));
        };
        let entry = |(word, action): (&toml::Spanned<Cow<'_, str>>, &toml::Spanned<DeValue<'_>>)| {
            let category =
                ContentCategory::try_from(word.get_ref().clone().into_owned()).map_err(Refusal::Value)?;
            Ok((category, DlpAction::from_toml(action.get_ref())?))
        };
        entries.iter().map(entry).collect()
    }
}

/// How much of a body is kept with its row, in bytes.
#[derive(Clone, Copy)]
struct PayloadSize(usize);

impl FromToml for PayloadSize {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let size = Bytes::from_toml(value)?;
        let fits = size <= Bytes::kib(64);
        fits.then_some(Self(size.0)).ok_or_else(|| Refusal::Value("expected at most `64KiB`".to_owned()))
    }
}

/// Most rows of calls that a gateway keeps.
#[derive(Clone, Copy)]
struct LogRows(u64);

impl FromToml for LogRows {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let rows = usize::from_toml(value)? as u64;
        let fits = (1..=LogCap::MAX_ROWS).contains(&rows);
        fits.then_some(Self(rows))
            .ok_or_else(|| Refusal::Value(format!("expected 1 to {} rows", LogCap::MAX_ROWS)))
    }
}
