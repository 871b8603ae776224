//! The configuration file as written: every key with its type and default, places kept.

use model::{Ruleset, Secret};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use toml::de::DeTable;

use super::ListenerProtocol;
use super::access_log_file::{self, AccessLogFile};
use super::certificate_file::{self, CertificatesFile, CustomHostnamesFile};
use super::challenge_file::{self, ChallengesFile};
use super::deprecation_file::{self, DeprecationsFile};
use super::dns_file::{self, DnsFile};
use super::environment;
use super::gateway_file::{self, GatewayFile, ProviderFile};
use super::list_file::{self, ListFile};
use super::mail_file::{self, MailFile};
use super::table::{Located, Reader, Table, Words};
use super::tracing_file::{self, TracingFile};
use super::units::{Bytes, Percent};
use super::zone_file::{self, ZoneFile};
use diagnostic::{Code, Diagnostic, Diagnostics, Source};

/// The file, read and typed but not yet checked as a whole.
#[derive(Clone, Debug)]
pub struct ConfFile {
    pub source: Arc<Source>,
    pub state_dir: PathBuf,
    pub ai_log_retention: Duration,
    pub ai_log_size: Bytes,
    pub security_event_retention: Duration,
    pub security_event_size: Bytes,
    pub node: Located<String>,
    pub threads: usize,
    pub scan_threads: usize,
    pub scan_cpu: Percent,
    pub graceful_stop: Duration,
    pub log_level: LogLevel,
    pub access_log: Option<AccessLogFile>,
    pub tracing: Option<TracingFile>,
    pub trusted_proxies: Vec<IpNet>,
    pub gateway_hosts: Option<Located<Vec<String>>>,
    pub gateway_token_headers: Option<Located<Vec<String>>>,
    pub listeners: Vec<ListenerFile>,
    pub limits: super::Limits,
    pub upstream: super::UpstreamSettings,
    pub admin_address: SocketAddr,
    pub api_tokens: Vec<Secret>,
    /// E-mail addresses with their keys.
    pub api_keys: Vec<(String, Secret)>,
    pub api_rate_limit: u64,
    pub private_webhooks: bool,
    pub owasp: Option<Located<Vec<String>>>,
    pub sensitive_data: Option<Located<Vec<String>>>,
    /// Entry points of the account that zones of files belong to.
    pub rulesets: Option<Located<Vec<Ruleset>>>,
    pub lists: Vec<ListFile>,
    pub zones: Vec<ZoneFile>,
    pub gateways: Vec<GatewayFile>,
    pub providers: Vec<ProviderFile>,
    pub model_prices: Option<Located<String>>,
    pub geo_databases: Option<Located<Vec<String>>>,
    pub secrets_key_file: Option<Located<String>>,
    pub challenges: ChallengesFile,
    pub dns: DnsFile,
    pub deprecations: DeprecationsFile,
    pub mail: Option<MailFile>,
    pub certificates: CertificatesFile,
    pub custom_hostnames: CustomHostnamesFile,
    /// Patterns of files with further sites and gateways.
    pub include: Option<Located<Vec<String>>>,
    /// Those files, and the folders in which further ones may appear.
    pub included: BTreeSet<PathBuf>,
}

/// What an included file may declare.
#[derive(Clone, Debug)]
pub struct ConfPart {
    pub listeners: Vec<ListenerFile>,
    pub rulesets: Option<Located<Vec<Ruleset>>>,
    pub lists: Vec<ListFile>,
    pub zones: Vec<ZoneFile>,
    pub gateways: Vec<GatewayFile>,
    pub providers: Vec<ProviderFile>,
}

#[derive(Clone, Debug)]
pub struct ListenerFile {
    pub address: Located<SocketAddr>,
    pub proxy_protocol_from: Vec<IpNet>,
    pub certificates: Vec<CertificateFile>,
    pub is_tls: bool,
    pub protocol: Located<ListenerProtocol>,
    pub http3: Option<Located<bool>>,
    pub http3_port: Option<Located<NonZeroU16>>,
}

#[derive(Clone, Debug)]
pub struct CertificateFile {
    pub chain: Located<String>,
    pub key: Located<String>,
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

/// Reads a file. `None` if it is not TOML at all.
pub fn read(source: &Arc<Source>) -> (Option<ConfFile>, Diagnostics) {
    read_with(source, |table| whole(source, table))
}

/// Reads an included file. `None` if it is not TOML at all.
pub(super) fn read_part(source: &Arc<Source>) -> (Option<ConfPart>, Diagnostics) {
    read_with(source, part)
}

fn read_with<T>(source: &Arc<Source>, typed: impl FnOnce(Table<'_>) -> T) -> (Option<T>, Diagnostics) {
    let reader = Reader { source: Arc::clone(source), diagnostics: Diagnostics::default().into() };
    let (mut table, errors) = DeTable::parse_recoverable(&source.text);
    for error in &errors {
        let place = reader.place(error.span().unwrap_or(0..0));
        reader.push(Diagnostic::error(Code::ConfSyntax, error.message().to_owned()).at(place));
    }
    if !errors.is_empty() {
        return (None, reader.diagnostics.into_inner());
    }
    environment::expand(&reader, table.get_mut());
    let read = typed(Table::root(&reader, table.get_ref()));
    (Some(read), reader.diagnostics.into_inner())
}

fn part(mut table: Table<'_>) -> ConfPart {
    let part = ConfPart {
        listeners: table.tables("listeners").into_iter().filter_map(listener).collect(),
        rulesets: table.resource("rulesets"),
        lists: table.tables("lists").into_iter().filter_map(list_file::list).collect(),
        zones: table.tables("zones").into_iter().filter_map(zone_file::zone).collect(),
        gateways: table.tables("gateways").into_iter().filter_map(gateway_file::gateway).collect(),
        providers: table.tables("providers").into_iter().filter_map(gateway_file::provider).collect(),
    };
    table.finish();
    part
}

fn whole(source: &Arc<Source>, mut table: Table<'_>) -> ConfFile {
    let start = table.place();
    let Admin { address: admin_address, api_tokens, api_keys, api_rate_limit, private_webhooks } =
        admin(&mut table);
    let (owasp, sensitive_data) = rules(&mut table);
    let file = ConfFile {
        source: Arc::clone(source),
        state_dir: PathBuf::from(table.or("state_dir", "state".to_owned())),
        ai_log_retention: table.or("ai_log_retention", Duration::ZERO),
        ai_log_size: table.or("ai_log_size", Bytes::mib(1024)),
        security_event_retention: table.or("security_event_retention", Duration::from_hours(24 * 30)),
        security_event_size: table.or("security_event_size", Bytes::mib(1024)),
        node: table.get("node").unwrap_or(Located { value: "1".to_owned(), place: start }),
        threads: table.number("threads", 0, 0..=1024),
        scan_threads: table.number("scan_threads", 1, 0..=256),
        scan_cpu: table.or("scan_cpu_percent", Percent::ALL),
        graceful_stop: table.or("graceful_stop", Duration::from_secs(30)),
        log_level: table.or("log_level", LogLevel::Info),
        access_log: access_log_file::access_log(&mut table),
        tracing: tracing_file::tracing(&mut table),
        trusted_proxies: table.or("trusted_proxies", Vec::new()),
        gateway_hosts: table.get("gateway_hosts"),
        gateway_token_headers: table.get("gateway_token_headers"),
        listeners: table.tables("listeners").into_iter().filter_map(listener).collect(),
        limits: limits(&mut table),
        upstream: upstream(&mut table),
        admin_address,
        api_tokens,
        api_keys,
        api_rate_limit,
        private_webhooks,
        owasp,
        sensitive_data,
        rulesets: table.resource("rulesets"),
        lists: table.tables("lists").into_iter().filter_map(list_file::list).collect(),
        zones: table.tables("zones").into_iter().filter_map(zone_file::zone).collect(),
        gateways: table.tables("gateways").into_iter().filter_map(gateway_file::gateway).collect(),
        providers: table.tables("providers").into_iter().filter_map(gateway_file::provider).collect(),
        include: table.get("include"),
        included: BTreeSet::new(),
        model_prices: table.get("model_prices"),
        geo_databases: table.get("geo_databases"),
        secrets_key_file: table.get("secrets_key_file"),
        challenges: challenge_file::challenges(&mut table),
        dns: dns_file::dns(&mut table),
        deprecations: deprecation_file::deprecations(&mut table),
        mail: mail_file::mail(&mut table),
        certificates: certificate_file::certificates(&mut table),
        custom_hostnames: certificate_file::custom_hostnames(&mut table),
    };
    table.finish();
    file
}

/// `[admin]` as written.
struct Admin {
    address: SocketAddr,
    api_tokens: Vec<Secret>,
    api_keys: Vec<(String, Secret)>,
    api_rate_limit: u64,
    private_webhooks: bool,
}

fn admin(root: &mut Table<'_>) -> Admin {
    let address = SocketAddr::from(([127, 0, 0, 1], 9180));
    let default = Admin {
        address,
        api_tokens: Vec::new(),
        api_keys: Vec::new(),
        api_rate_limit: 0,
        private_webhooks: false,
    };
    let Some(mut table) = root.table("admin") else { return default };
    let keys = table.tables("api_keys").into_iter().filter_map(|mut table| {
        let (email, key) = (table.required("email"), table.required("api_key"));
        table.finish();
        Some((email?.value, key?.value))
    });
    let admin = Admin {
        api_keys: keys.collect(),
        address: table.or("address", address),
        api_tokens: table.or("api_tokens", Vec::new()),
        private_webhooks: table.or("private_webhooks", false),
        api_rate_limit: table.number("rate_limit", 0, 0..=1_000_000_000) as u64,
    };
    table.finish();
    admin
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
        cached_response: table.size("cached_response", default.cached_response, Bytes::mib(1024)),
        cached_responses: table.or("cached_responses", default.cached_responses),
        cache_lock_timeout: table.or("cache_lock_timeout", default.cache_lock_timeout),
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

impl Words for ListenerProtocol {
    const WORDS: &'static [(&'static str, Self)] = &[("http", Self::Http), ("dns", Self::Dns)];
}

fn listener(mut table: Table<'_>) -> Option<ListenerFile> {
    let address = table.required::<SocketAddr>("address");
    let proxy_protocol_from = table.or("proxy_protocol_from", Vec::new());
    let certificates = table.tables("certificates").into_iter().filter_map(certificate).collect();
    let protocol = table.get("protocol");
    let is_tls = table.or("tls", false);
    let (http3, http3_port) = (table.get("http3"), table.get("http3_port"));
    table.finish();
    let address = address?;
    let protocol =
        protocol.unwrap_or_else(|| Located { value: ListenerProtocol::Http, place: address.place.clone() });
    Some(ListenerFile { address, proxy_protocol_from, certificates, is_tls, protocol, http3, http3_port })
}

fn certificate(mut table: Table<'_>) -> Option<CertificateFile> {
    let (chain, key) = (table.required("chain"), table.required("key"));
    table.finish();
    Some(CertificateFile { chain: chain?, key: key? })
}
