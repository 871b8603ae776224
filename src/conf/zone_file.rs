//! `[[zones]]` as written.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use serde_json::Value;

use super::table::{Located, Table, Words};
use detection::plan::Settings;
use model::ruleset::Ruleset;
use model::{Balance, CompressionName, HealthCheck, OriginProtocol, OriginProxyProtocol};

#[derive(Clone, Debug)]
pub struct ZoneFile {
    pub name: Located<String>,
    pub origins: Located<Vec<String>>,
    pub balance: Balance,
    pub origin_protocol: OriginProtocol,
    pub origin_proxy_protocol: OriginProxyProtocol,
    pub origin_ca: Option<Located<String>>,
    pub health_check: Option<Located<HealthCheck>>,
    pub waf: Option<WafFile>,
    pub sensitive_data: SensitiveDataFile,
    pub rulesets: Option<Located<Vec<Ruleset>>>,
    pub tls: ZoneTlsFile,
    /// Values of settings, by their names in the API.
    pub settings: Option<Located<BTreeMap<String, Value>>>,
    pub compression: Vec<CompressionName>,
    pub basic_auth: Vec<BasicAuthFile>,
    pub forward_auth: Vec<ForwardAuthFile>,
    pub error_pages: Vec<ErrorPageFile>,
    pub cache: Option<CacheFile>,
}

/// `[zones.cache]`.
#[derive(Clone, Debug)]
pub struct CacheFile {
    /// Which responses are kept.
    pub expression: Option<Located<String>>,
    /// How long a response is kept if its origin says nothing about that.
    pub ttl: Option<Located<Duration>>,
}

/// `[[zones.error_pages]]`.
#[derive(Clone, Debug)]
pub struct ErrorPageFile {
    /// Such as `404` and `5xx`.
    pub statuses: Located<Vec<String>>,
    pub file: Located<String>,
}

/// `[[zones.forward_auth]]`.
#[derive(Clone, Debug)]
pub struct ForwardAuthFile {
    pub expression: Option<Located<String>>,
    pub url: Located<String>,
    pub copy_headers: Option<Located<Vec<String>>>,
    pub timeout: Duration,
}

/// `[[zones.basic_auth]]`.
#[derive(Clone, Debug)]
pub struct BasicAuthFile {
    pub expression: Option<Located<String>>,
    pub realm: Option<Located<String>>,
    pub users_file: Located<String>,
}

impl ForwardAuthFile {
    /// The timeout of a service if the file sets none.
    const USUAL_TIMEOUT: Duration = Duration::from_secs(5);
}

/// Where the certificates of a zone come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZoneTlsFile {
    /// From nowhere, or from files of listeners.
    #[default]
    Off,
    /// From a CA, automatically.
    Auto,
}

impl Words for ZoneTlsFile {
    const WORDS: &'static [(&'static str, Self)] = &[("off", Self::Off), ("auto", Self::Auto)];
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

impl Words for Balance {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("round_robin", Self::RoundRobin),
        ("least_connections", Self::LeastConnections),
        ("client_address", Self::ClientAddress),
        ("cookie", Self::Cookie),
    ];
}

impl Words for OriginProtocol {
    const WORDS: &'static [(&'static str, Self)] = &[("http1", Self::Http1), ("http2", Self::Http2)];
}

impl Words for OriginProxyProtocol {
    const WORDS: &'static [(&'static str, Self)] = &[("off", Self::Off), ("v1", Self::V1), ("v2", Self::V2)];
}

impl Words for CompressionName {
    const WORDS: &'static [(&'static str, Self)] =
        &[("zstd", Self::Zstd), ("brotli", Self::Brotli), ("gzip", Self::Gzip), ("auto", Self::Auto)];
}

pub(super) fn zone(mut table: Table<'_>) -> Option<ZoneFile> {
    let (name, origins) = (table.required("name"), table.required("origins"));
    let balance = table.or("balance", Balance::default());
    let origin_protocol = table.or("origin_protocol", OriginProtocol::default());
    let origin_proxy_protocol = table.or("origin_proxy_protocol", OriginProxyProtocol::default());
    let origin_ca = table.get("origin_ca");
    let health_check = table.table("health_check").and_then(|mut table| {
        let path: Option<Located<String>> = table.required("path");
        let interval = table.or("interval", Duration::from_secs(10));
        let timeout = table.or("timeout", HealthCheck::usual_timeout());
        let healthy_after = table.or("healthy_after", NonZeroU32::MIN);
        let unhealthy_after = table.or("unhealthy_after", NonZeroU32::MIN);
        table.finish();
        let Located { value: path, place } = path?;
        Some(Located {
            value: HealthCheck { path, interval, timeout, healthy_after, unhealthy_after },
            place,
        })
    });
    let waf = table.table("waf").map(waf);
    let sensitive_data = table.table("sensitive_data").map(sensitive_data).unwrap_or_default();
    let rulesets = table.resource("rulesets");
    let tls = table.or("tls", ZoneTlsFile::default());
    let settings = table.resource("settings");
    let compression = table.or("compression", Vec::new());
    let basic_auth = table.tables("basic_auth").into_iter().filter_map(basic_auth).collect();
    let forward_auth = table.tables("forward_auth").into_iter().filter_map(forward_auth).collect();
    let cache = table.table("cache").map(cache);
    let error_pages = table.tables("error_pages").into_iter().filter_map(error_page).collect();
    table.finish();
    Some(ZoneFile {
        name: name?,
        origins: origins?,
        balance,
        origin_protocol,
        origin_proxy_protocol,
        origin_ca,
        health_check,
        waf,
        sensitive_data,
        rulesets,
        tls,
        settings,
        compression,
        basic_auth,
        forward_auth,
        error_pages,
        cache,
    })
}

fn basic_auth(mut table: Table<'_>) -> Option<BasicAuthFile> {
    let (expression, realm) = (table.get("expression"), table.get("realm"));
    let users_file = table.required("users_file");
    table.finish();
    Some(BasicAuthFile { expression, realm, users_file: users_file? })
}

fn forward_auth(mut table: Table<'_>) -> Option<ForwardAuthFile> {
    let (url, expression) = (table.required("url"), table.get("expression"));
    let copy_headers = table.get("copy_headers");
    let timeout = table.or("timeout", ForwardAuthFile::USUAL_TIMEOUT);
    table.finish();
    Some(ForwardAuthFile { expression, url: url?, copy_headers, timeout })
}

fn cache(mut table: Table<'_>) -> CacheFile {
    let (expression, ttl) = (table.get("expression"), table.get("ttl"));
    table.finish();
    CacheFile { expression, ttl }
}

fn error_page(mut table: Table<'_>) -> Option<ErrorPageFile> {
    let (statuses, file) = (table.required("statuses"), table.required("file"));
    table.finish();
    Some(ErrorPageFile { statuses: statuses?, file: file? })
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
