//! Settings of gateways: as bodies write them and as answers show them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gateway::mcp;
use model::gateway::GatewaySettings;
use model::{Dimension, Limit, LogCap, McpServer, Measure, Technique, limit_filters};
use serde::Serialize;

use super::super::error;
use super::super::input::Fields;
use super::{gateway_guardrail, gateway_otel, gateway_spend_limits};

/// Most limits of a gateway.
pub(super) const MAX_LIMITS: usize = 32;
/// Most servers of tools of a gateway.
const MAX_MCP_SERVERS: usize = 64;
/// Longest interval and lifetime: a year, in seconds.
pub(super) const MAX_SECONDS: i64 = 31_536_000;
/// Most bytes of each body that are kept.
const MAX_PAYLOAD_BYTES: i64 = 64 << 10;

/// A limit as answers show it.
#[derive(Debug, Serialize)]
pub(super) struct ShownLimit {
    measure: Measure,
    by: Vec<Dimension>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    only: BTreeMap<String, Vec<String>>,
    /// Requests, tokens or dollars.
    limit: f64,
    /// In seconds.
    interval: u64,
    technique: Technique,
}

/// Whether a limit is the one that the fields `rate_limiting_…` stand for.
pub(super) fn is_plain(limit: &Limit) -> bool {
    limit.measure == Measure::Requests && limit.by.is_empty() && limit.only.is_empty()
}

/// The limits of a gateway but for the plain one.
#[expect(clippy::cast_precision_loss, reason = "limits are far below the numbers that a float has whole")]
pub(super) fn shown_limits(settings: &GatewaySettings) -> Vec<ShownLimit> {
    let others = settings.limits.iter().filter(|limit| !is_plain(limit));
    let shown = others.map(|limit| ShownLimit {
        measure: limit.measure,
        by: limit.by.clone(),
        only: limit
            .only
            .iter()
            .map(|filter| (filter.dimension.clone().into(), filter.values.clone()))
            .collect(),
        limit: if limit.measure == Measure::Cost { limit.limit as f64 / 1e9 } else { limit.limit as f64 },
        interval: limit.interval.as_secs(),
        technique: limit.technique,
    });
    shown.collect()
}

/// Reads the settings of a body; those that it does not have stay.
pub(super) fn read(fields: &Fields<'_>, settings: &mut GatewaySettings) {
    plain_limit(fields, settings);
    if let Some(limits) = fields.objects("limits") {
        if limits.len() > MAX_LIMITS {
            fields.refuse(error::BAD_FIELD, "limits", format!("a gateway has at most {MAX_LIMITS} limits"));
        }
        settings.limits.retain(is_plain);
        settings.limits.extend(limits.iter().filter_map(limit));
    }
    gateway_spend_limits::read(fields, settings);
    mcp_servers(fields, settings);
    gateway_guardrail::read(fields, settings);
    gateway_guardrail::read_content(fields, settings);
    gateway_otel::read(fields, settings);
    flags(fields, settings);
    if let Some(bytes) = fields.within("log_payload_bytes", 0..=MAX_PAYLOAD_BYTES) {
        settings.log_payload_bytes = usize::try_from(bytes).unwrap_or(0);
    }
    if fields.has("log_management") {
        let bounds = 1..=LogCap::MAX_ROWS.cast_signed();
        settings.log_management = fields.within("log_management", bounds).map(i64::unsigned_abs);
    }
    if let Some(strategy) = fields.word("log_management_strategy", error::BAD_FIELD) {
        settings.log_management_strategy = strategy;
    }
    if let Some(milliseconds) = fields.within("request_timeout", 0..=3_600_000) {
        settings.request_timeout = Duration::from_millis(milliseconds.unsigned_abs());
    }
    if let Some(milliseconds) = fields.within("heartbeat", 0..=3_600_000) {
        settings.heartbeat = Duration::from_millis(milliseconds.unsigned_abs());
    }
    if fields.has("waf_paranoia_level") {
        settings.waf_paranoia_level =
            fields.within("waf_paranoia_level", 1..=4).and_then(|level| u8::try_from(level).ok());
    }
    if let Some(scan) = fields.object("sensitive_data") {
        settings.scan_requests = scan.word("requests", error::BAD_FIELD).unwrap_or(settings.scan_requests);
        settings.scan_responses = scan.word("responses", error::BAD_FIELD).unwrap_or(settings.scan_responses);
    }
}

/// A server of tools. Only a file may allow private addresses.
fn mcp_server(fields: &Fields<'_>) -> Option<McpServer> {
    let (name, url) = (fields.required_text("name"), fields.required_text("url"));
    if fields.bool("allow_private") == Some(true) {
        fields.refuse(error::BAD_FIELD, "allow_private", "only a file may allow private addresses");
    }
    let tools = fields.texts("tools");
    let server = McpServer { name: name?.to_owned(), url: url?.to_owned(), allow_private: false, tools };
    for (member, message) in mcp::faults(&server) {
        fields.refuse(error::BAD_FIELD, member, message);
    }
    Some(server)
}

fn mcp_servers(fields: &Fields<'_>, settings: &mut GatewaySettings) {
    let Some(servers) = fields.objects("mcp_servers") else { return };
    if servers.len() > MAX_MCP_SERVERS {
        let message = format!("a gateway has at most {MAX_MCP_SERVERS} MCP servers");
        fields.refuse(error::BAD_FIELD, "mcp_servers", message);
    }
    settings.mcp_servers = servers.iter().filter_map(mcp_server).collect();
    let mut names = BTreeSet::new();
    for (nth, server) in settings.mcp_servers.iter().enumerate() {
        if !names.insert(&server.name) {
            let message = format!("another server has the name `{}`", server.name);
            fields.refuse(error::BAD_FIELD, &format!("mcp_servers/{nth}/name"), message);
        }
    }
}

fn flags(fields: &Fields<'_>, settings: &mut GatewaySettings) {
    let take = |name: &'static str, setting: &mut bool| *setting = fields.bool(name).unwrap_or(*setting);
    take("collect_logs", &mut settings.collect_logs);
    take("collect_log_payloads", &mut settings.collect_log_payloads);
    take("caller_prices", &mut settings.caller_prices);
    take("cache_shared", &mut settings.shares_cache);
    take("cache_invalidate_on_update", &mut settings.cache_invalidate_on_update);
    take("include_usage", &mut settings.include_usage);
}

fn limit(fields: &Fields<'_>) -> Option<Limit> {
    let measure = fields.word::<Measure>("measure", error::BAD_FIELD);
    if measure.is_none() && fields.value("measure").is_none() {
        fields.refuse(error::BAD_FIELD, "measure", "expected `requests`, `tokens` or `cost`");
    }
    let number = fields.value("limit").and_then(serde_json::Value::as_f64);
    let amount = measure.zip(number).and_then(|(measure, number)| measure.amount(number));
    if amount.is_none() {
        let message = "expected a whole number of requests or tokens, or dollars; 0 or more";
        fields.refuse(error::BAD_FIELD, "limit", message);
    }
    let interval = fields.within("interval", 1..=MAX_SECONDS);
    if fields.value("interval").is_none() {
        fields.refuse(error::BAD_FIELD, "interval", "`interval` is required, in seconds");
    }
    let mut by = Vec::new();
    for (nth, text) in fields.texts("by").unwrap_or_default().iter().enumerate() {
        match Dimension::parse(text) {
            Some(dimension) => by.push(dimension),
            None => {
                let message =
                    format!("expected `token`, `model`, `provider` or `metadata.KEY`, found `{text}`");
                fields.refuse(error::BAD_FIELD, &format!("by/{nth}"), message);
            }
        }
    }
    let only = fields.text_lists("only").and_then(|written| {
        let filters = limit_filters(&written);
        filters.map_err(|message| fields.refuse(error::BAD_FIELD, "only", message)).ok()
    });
    Some(Limit {
        by,
        only: only.unwrap_or_default(),
        measure: measure?,
        limit: amount?,
        interval: Duration::from_secs(interval?.unsigned_abs()),
        technique: fields.word("technique", error::BAD_FIELD).unwrap_or_default(),
    })
}

/// The limit of requests; both numbers, or none.
fn plain_limit(fields: &Fields<'_>, settings: &mut GatewaySettings) {
    let is_given = fields.has("rate_limiting_limit") | fields.has("rate_limiting_interval");
    let technique = fields.word::<Technique>("rate_limiting_technique", error::BAD_FIELD);
    let limit = fields.within("rate_limiting_limit", 0..=1_000_000_000).filter(|limit| *limit > 0);
    let interval = fields.within("rate_limiting_interval", 0..=MAX_SECONDS).filter(|interval| *interval > 0);
    let place = settings.limits.iter().position(is_plain);
    match (limit, interval) {
        (Some(limit), Some(interval)) => {
            let known = place.map(|place| settings.limits.remove(place));
            let known = known.map(|limit| limit.technique);
            settings.limits.push(Limit {
                by: Vec::new(),
                only: Vec::new(),
                measure: Measure::Requests,
                limit: limit.unsigned_abs(),
                interval: Duration::from_secs(interval.unsigned_abs()),
                technique: technique.or(known).unwrap_or_default(),
            });
        }
        (None, None) => {
            if let Some(place) = place.filter(|_| is_given) {
                settings.limits.remove(place);
            }
        }
        _ => {
            let message = "a limit has both `rate_limiting_limit` and `rate_limiting_interval`, above 0";
            fields.refuse(error::BAD_FIELD, "rate_limiting_limit", message);
        }
    }
}
