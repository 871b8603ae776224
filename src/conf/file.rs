//! The configuration file as written: every key with its type and default, places kept.

use model::Secret;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use toml::de::{DeTable, DeValue};

use super::table::{FromToml, Located, Reader, Refusal, Table, Words};
use super::units::{Bytes, Dollars, Percent};
use detection::plan::Settings;
use diagnostic::{Code, Diagnostic, Diagnostics, Source};
use model::gateway::{GatewaySettings, Scan};
use model::ruleset::Ruleset;
use model::{Backoff, Measure, Technique};
use model::{Balance, OriginProtocol};

/// Every key there is. `conf/portcullis.toml` shows each, and each has a test of its effect.
pub const KEYS: &[&str] = &[
    "admin",
    "admin.address",
    "admin.api_tokens",
    "ai_log_retention",
    "ai_log_size",
    "gateway_hosts",
    "gateway_token_headers",
    "gateways",
    "gateways.account",
    "gateways.authentication",
    "gateways.cache_shared",
    "gateways.cache_ttl",
    "gateways.caller_prices",
    "gateways.collect_log_payloads",
    "gateways.collect_logs",
    "gateways.heartbeat",
    "gateways.include_usage",
    "gateways.id",
    "gateways.limits",
    "gateways.limits.by",
    "gateways.limits.interval",
    "gateways.limits.limit",
    "gateways.limits.measure",
    "gateways.limits.technique",
    "gateways.log_payload",
    "gateways.request_timeout",
    "gateways.retry_backoff",
    "gateways.retry_delay",
    "gateways.retry_max_attempts",
    "gateways.sensitive_data",
    "gateways.sensitive_data.payload_key",
    "gateways.sensitive_data.requests",
    "gateways.sensitive_data.responses",
    "gateways.unpriced_call_cost",
    "gateways.waf",
    "gateways.waf.paranoia_level",
    "graceful_stop",
    "limits",
    "limits.arguments",
    "limits.connections",
    "limits.connections_per_address",
    "limits.decompressed_body",
    "limits.decompression_ratio",
    "limits.header_deadline",
    "limits.header_fields",
    "limits.header_section",
    "limits.idle_timeout",
    "limits.inspected_bodies",
    "limits.inspected_body",
    "limits.inspected_body_policy",
    "limits.inspected_response",
    "limits.json_depth",
    "limits.multipart_parts",
    "limits.request_line",
    "limits.rules_time",
    "limits.rules_time_policy",
    "limits.scan_queue",
    "limits.scanned_body",
    "limits.write_timeout",
    "listeners",
    "listeners.address",
    "listeners.certificates",
    "listeners.certificates.chain",
    "listeners.certificates.key",
    "listeners.proxy_protocol_from",
    "log_level",
    "model_prices",
    "node",
    "providers",
    "providers.allow_private",
    "providers.base_url",
    "providers.slug",
    "rules",
    "rules.owasp",
    "rules.sensitive_data",
    "scan_cpu_percent",
    "scan_threads",
    "secrets_key_file",
    "state_dir",
    "threads",
    "trusted_proxies",
    "upstream",
    "upstream.connect_timeout",
    "upstream.idle_timeout",
    "upstream.pool",
    "upstream.read_timeout",
    "zones",
    "zones.balance",
    "zones.health_check",
    "zones.health_check.interval",
    "zones.health_check.path",
    "zones.name",
    "zones.origin_ca",
    "zones.origin_protocol",
    "zones.origins",
    "zones.rulesets",
    "zones.sensitive_data",
    "zones.sensitive_data.enabled",
    "zones.sensitive_data.expression",
    "zones.sensitive_data.payload_key",
    "zones.sensitive_data.sample_every",
    "zones.waf",
    "zones.waf.action",
    "zones.waf.expression",
    "zones.waf.paranoia_level",
    "zones.waf.response_rules",
    "zones.waf.score_threshold",
];

/// The file, read and typed but not yet checked as a whole.
#[derive(Clone, Debug)]
pub struct ConfFile {
    pub source: Arc<Source>,
    pub state_dir: PathBuf,
    pub ai_log_retention: Duration,
    pub ai_log_size: Bytes,
    pub node: Located<String>,
    pub threads: usize,
    pub scan_threads: usize,
    pub scan_cpu: Percent,
    pub graceful_stop: Duration,
    pub log_level: LogLevel,
    pub trusted_proxies: Vec<IpNet>,
    pub gateway_hosts: Option<Located<Vec<String>>>,
    pub gateway_token_headers: Option<Located<Vec<String>>>,
    pub listeners: Vec<ListenerFile>,
    pub limits: super::Limits,
    pub upstream: super::UpstreamSettings,
    pub admin_address: SocketAddr,
    pub api_tokens: Vec<Secret>,
    pub owasp: Option<Located<Vec<String>>>,
    pub sensitive_data: Option<Located<Vec<String>>>,
    pub zones: Vec<ZoneFile>,
    pub gateways: Vec<GatewayFile>,
    pub providers: Vec<ProviderFile>,
    pub model_prices: Option<Located<String>>,
    pub secrets_key_file: Option<Located<String>>,
}

#[derive(Clone, Debug)]
pub struct ListenerFile {
    pub address: Located<SocketAddr>,
    pub proxy_protocol_from: Vec<IpNet>,
    pub certificates: Vec<CertificateFile>,
}

#[derive(Clone, Debug)]
pub struct CertificateFile {
    pub chain: Located<String>,
    pub key: Located<String>,
}

#[derive(Clone, Debug)]
pub struct ZoneFile {
    pub name: Located<String>,
    pub origins: Located<Vec<String>>,
    pub balance: Balance,
    pub origin_protocol: OriginProtocol,
    pub origin_ca: Option<Located<String>>,
    pub health_check: Option<(Located<String>, Duration)>,
    pub waf: Option<WafFile>,
    pub sensitive_data: SensitiveDataFile,
    pub rulesets: Option<Located<Vec<Ruleset>>>,
}

/// What a zone says of its scans.
#[derive(Clone, Debug, Default)]
pub struct SensitiveDataFile {
    /// Whether the managed ruleset is deployed.
    pub enabled: bool,
    /// Which responses are scanned.
    pub expression: Option<Located<String>>,
    pub settings: Settings,
}

/// The short form of a zone's OWASP deployment.
#[derive(Clone, Debug)]
pub struct WafFile {
    pub paranoia_level: Located<usize>,
    pub score_threshold: Located<i64>,
    pub action: Located<String>,
    /// Which requests are judged.
    pub expression: Option<Located<String>>,
    pub response_rules: bool,
}

#[derive(Clone, Debug)]
pub struct GatewayFile {
    pub account: Located<String>,
    pub id: Located<String>,
    pub authentication: bool,
    pub settings: GatewaySettings,
    pub waf_paranoia_level: Option<Located<usize>>,
    pub retry_max_attempts: Option<Located<usize>>,
    pub limits: Vec<LimitFile>,
}

#[derive(Clone, Debug)]
pub struct LimitFile {
    pub measure: Measure,
    pub by: Option<Located<Vec<String>>>,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
}

impl Words for LogLevel {
    const WORDS: &'static [(&'static str, Self)] =
        &[("error", Self::Error), ("warn", Self::Warn), ("info", Self::Info), ("debug", Self::Debug)];
}

impl Words for super::BodyPolicy {
    const WORDS: &'static [(&'static str, Self)] = &[("refuse", Self::Refuse), ("pass", Self::Pass)];
}

impl Words for super::RulesTimePolicy {
    const WORDS: &'static [(&'static str, Self)] = &[("log", Self::Log), ("block", Self::Block)];
}

impl Words for Balance {
    const WORDS: &'static [(&'static str, Self)] =
        &[("round_robin", Self::RoundRobin), ("least_connections", Self::LeastConnections)];
}

impl Words for OriginProtocol {
    const WORDS: &'static [(&'static str, Self)] = &[("http1", Self::Http1), ("http2", Self::Http2)];
}

/// Reads a file. `None` where it is not TOML at all.
pub fn read(source: &Arc<Source>) -> (Option<ConfFile>, Diagnostics) {
    let reader = Reader { source: Arc::clone(source), diagnostics: Diagnostics::default().into() };
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    for error in &errors {
        let place = reader.place(error.span().unwrap_or(0..0));
        reader.push(Diagnostic::error(Code::ConfSyntax, error.message().to_owned()).at(place));
    }
    if !errors.is_empty() {
        return (None, reader.diagnostics.into_inner());
    }
    let file = whole(source, Table::root(&reader, table.get_ref()));
    (Some(file), reader.diagnostics.into_inner())
}

fn whole(source: &Arc<Source>, mut table: Table<'_>) -> ConfFile {
    let start = table.place();
    let (admin_address, api_tokens) = admin(&mut table);
    let (owasp, sensitive_data) = rules(&mut table);
    let file = ConfFile {
        source: Arc::clone(source),
        state_dir: PathBuf::from(table.or("state_dir", "state".to_owned())),
        ai_log_retention: table.or("ai_log_retention", Duration::ZERO),
        ai_log_size: table.or("ai_log_size", Bytes::mib(1024)),
        node: table.get("node").unwrap_or(Located { value: "1".to_owned(), place: start }),
        threads: table.number("threads", 0, 0..=1024),
        scan_threads: table.number("scan_threads", 1, 0..=256),
        scan_cpu: table.or("scan_cpu_percent", Percent::ALL),
        graceful_stop: table.or("graceful_stop", Duration::from_secs(30)),
        log_level: table.or("log_level", LogLevel::Info),
        trusted_proxies: table.or("trusted_proxies", Vec::new()),
        gateway_hosts: table.get("gateway_hosts"),
        gateway_token_headers: table.get("gateway_token_headers"),
        listeners: table.tables("listeners").into_iter().filter_map(listener).collect(),
        limits: limits(&mut table),
        upstream: upstream(&mut table),
        admin_address,
        api_tokens,
        owasp,
        sensitive_data,
        zones: table.tables("zones").into_iter().filter_map(zone).collect(),
        gateways: table.tables("gateways").into_iter().filter_map(gateway).collect(),
        providers: table.tables("providers").into_iter().filter_map(provider).collect(),
        model_prices: table.get("model_prices"),
        secrets_key_file: table.get("secrets_key_file"),
    };
    table.finish();
    file
}

fn admin(root: &mut Table<'_>) -> (SocketAddr, Vec<Secret>) {
    let default = SocketAddr::from(([127, 0, 0, 1], 9180));
    let Some(mut table) = root.table("admin") else { return (default, Vec::new()) };
    let settings = (table.or("address", default), table.or("api_tokens", Vec::new()));
    table.finish();
    settings
}

type Paths = Option<Located<Vec<String>>>;

fn rules(root: &mut Table<'_>) -> (Paths, Paths) {
    let Some(mut table) = root.table("rules") else { return (None, None) };
    let paths = (table.get("owasp"), table.get("sensitive_data"));
    table.finish();
    paths
}

fn limits(root: &mut Table<'_>) -> super::Limits {
    let default = super::Limits::default();
    let Some(mut table) = root.table("limits") else { return default };
    let limits = super::Limits {
        request_line: table.size("request_line", default.request_line, Bytes::kib(512)),
        header_section: table.size("header_section", default.header_section, Bytes::kib(512)),
        header_fields: table.number("header_fields", default.header_fields, 1..=250),
        header_deadline: table.or("header_deadline", default.header_deadline),
        idle_timeout: table.or("idle_timeout", default.idle_timeout),
        write_timeout: table.or("write_timeout", default.write_timeout),
        connections: table.number("connections", default.connections, 1..=1_000_000),
        connections_per_address: table.number(
            "connections_per_address",
            default.connections_per_address,
            1..=1_000_000,
        ),
        inspected_body: table.size("inspected_body", default.inspected_body, Bytes::mib(1024)),
        inspected_bodies: table.size("inspected_bodies", default.inspected_bodies, Bytes::mib(1 << 20)),
        inspected_body_policy: table.or("inspected_body_policy", default.inspected_body_policy),
        inspected_response: table.size("inspected_response", default.inspected_response, Bytes::mib(1024)),
        arguments: table.number("arguments", default.arguments, 1..=100_000),
        json_depth: table.number("json_depth", default.json_depth, 1..=128),
        multipart_parts: table.number("multipart_parts", default.multipart_parts, 1..=10_000),
        rules_time: table.or("rules_time", default.rules_time),
        rules_time_policy: table.or("rules_time_policy", default.rules_time_policy),
        scanned_body: table.size("scanned_body", default.scanned_body, Bytes::mib(1024)),
        scan_queue: table.size("scan_queue", default.scan_queue, Bytes::mib(1 << 20)),
        decompression_ratio: table.number("decompression_ratio", default.decompression_ratio, 1..=100_000),
        decompressed_body: table.size("decompressed_body", default.decompressed_body, Bytes::mib(1024)),
    };
    table.finish();
    limits
}

fn upstream(root: &mut Table<'_>) -> super::UpstreamSettings {
    let default = super::UpstreamSettings::default();
    let Some(mut table) = root.table("upstream") else { return default };
    let settings = super::UpstreamSettings {
        connect_timeout: table.or("connect_timeout", default.connect_timeout),
        read_timeout: table.or("read_timeout", default.read_timeout),
        idle_timeout: table.or("idle_timeout", default.idle_timeout),
        pool: table.number("pool", default.pool, 0..=100_000),
    };
    table.finish();
    settings
}

fn listener(mut table: Table<'_>) -> Option<ListenerFile> {
    let address = table.required("address");
    let proxy_protocol_from = table.or("proxy_protocol_from", Vec::new());
    let certificates = table.tables("certificates").into_iter().filter_map(certificate).collect();
    table.finish();
    Some(ListenerFile { address: address?, proxy_protocol_from, certificates })
}

fn certificate(mut table: Table<'_>) -> Option<CertificateFile> {
    let (chain, key) = (table.required("chain"), table.required("key"));
    table.finish();
    Some(CertificateFile { chain: chain?, key: key? })
}

fn zone(mut table: Table<'_>) -> Option<ZoneFile> {
    let (name, origins) = (table.required("name"), table.required("origins"));
    let balance = table.or("balance", Balance::default());
    let origin_protocol = table.or("origin_protocol", OriginProtocol::default());
    let origin_ca = table.get("origin_ca");
    let health_check = table.table("health_check").and_then(|mut table| {
        let path = table.required("path");
        let interval = table.or("interval", Duration::from_secs(10));
        table.finish();
        Some((path?, interval))
    });
    let waf = table.table("waf").map(waf);
    let sensitive_data = table.table("sensitive_data").map(sensitive_data).unwrap_or_default();
    let rulesets = table.resource("rulesets");
    table.finish();
    Some(ZoneFile {
        name: name?,
        origins: origins?,
        balance,
        origin_protocol,
        origin_ca,
        health_check,
        waf,
        sensitive_data,
        rulesets,
    })
}

fn sensitive_data(mut table: Table<'_>) -> SensitiveDataFile {
    let settings = Settings {
        payload_key: table.get("payload_key").map(|located| located.value),
        sample_every: table.or("sample_every", Settings::default().sample_every),
    };
    let enabled = table.or("enabled", true);
    let expression = table.get("expression");
    table.finish();
    SensitiveDataFile { enabled, expression, settings }
}

fn waf(mut table: Table<'_>) -> WafFile {
    let here = table.place();
    let waf = WafFile {
        paranoia_level: table.get("paranoia_level").unwrap_or(Located { value: 1, place: here.clone() }),
        score_threshold: table.get("score_threshold").unwrap_or(Located { value: 5, place: here.clone() }),
        action: table.get("action").unwrap_or(Located { value: "block".to_owned(), place: here }),
        expression: table.get("expression"),
        response_rules: table.or("response_rules", false),
    };
    table.finish();
    waf
}

fn gateway(mut table: Table<'_>) -> Option<GatewayFile> {
    let (account, id) = (table.required("account"), table.required("id"));
    let authentication = table.or("authentication", true);
    let default = GatewaySettings::default();
    let settings = GatewaySettings {
        collect_logs: table.or("collect_logs", default.collect_logs),
        collect_log_payloads: table.or("collect_log_payloads", default.collect_log_payloads),
        log_payload_bytes: table.or("log_payload", PayloadSize(default.log_payload_bytes)).0,
        caller_prices: table.or("caller_prices", default.caller_prices),
        unpriced_call_nanos: table.get::<Dollars>("unpriced_call_cost").map(|cost| cost.value.0),
        cache_ttl: table.or("cache_ttl", default.cache_ttl),
        shares_cache: table.or("cache_shared", default.shares_cache),
        retry_delay: table.or("retry_delay", default.retry_delay),
        retry_backoff: table.or("retry_backoff", default.retry_backoff),
        request_timeout: table.or("request_timeout", default.request_timeout),
        heartbeat: table.or("heartbeat", default.heartbeat),
        include_usage: table.or("include_usage", default.include_usage),
        ..default
    };
    let settings = match table.table("sensitive_data") {
        Some(mut table) => {
            let scan_requests = table.or("requests", Scan::Log);
            let scan_responses = table.or("responses", ResponseScan(Scan::Log)).0;
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
    table.finish();
    Some(GatewayFile {
        account: account?,
        id: id?,
        authentication,
        settings,
        waf_paranoia_level,
        retry_max_attempts,
        limits,
    })
}

fn limit(mut table: Table<'_>) -> Option<LimitFile> {
    let (measure, limit, interval) =
        (table.required("measure"), table.required("limit"), table.required("interval"));
    let (by, technique) = (table.get("by"), table.or("technique", Technique::default()));
    table.finish();
    Some(LimitFile { measure: measure?.value, by, limit: limit?, interval: interval?, technique })
}

fn provider(mut table: Table<'_>) -> Option<ProviderFile> {
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

impl Words for Scan {
    const WORDS: &'static [(&'static str, Self)] =
        &[("off", Self::Off), ("log", Self::Log), ("block", Self::Block)];
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

/// What can be done about an answer that is on its way already.
#[derive(Clone, Copy)]
struct ResponseScan(Scan);

impl Words for ResponseScan {
    const WORDS: &'static [(&'static str, Self)] = &[("off", Self(Scan::Off)), ("log", Self(Scan::Log))];
}
