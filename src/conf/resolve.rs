//! `ConfFile` → `Conf`: names, URLs and files checked, conflicts found, every error collected.

mod access_log;
mod basic_auth;
mod cache;
mod certificates;
mod challenges;
mod deprecations;
mod dlp;
mod dns;
mod error_pages;
mod forward_auth;
mod guardrail;
mod list;
mod listeners;
mod mail;
mod mcp_servers;
mod route;
mod span_collectors;
mod tracing;
mod zone;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::ConfFile;
use super::gateway_file::{GatewayFile, LimitFile, ProviderFile};
use super::table::Located;
use super::{Conf, ListenerProtocol};
use crate::clock::rfc3339;
use crate::geo::GeoDatabases;
use crate::named_file::{read_database, read_text};
use diagnostic::{Code, Diagnostic, Diagnostics, Place};
use gateway::price::Prices;
use gateway::provider::{self, CUSTOM_PREFIX};
use gateway::vault::MasterKey;
use model::gateway::Provider;
use model::origin_url::OriginUrl;
use model::{AccountId, Declared, Dimension, Gateway, GatewayId, HostName, Limit, Resources, limit_filters};

/// Resolves a file; what is invalid is left out of the result and named in `diagnostics`.
pub fn resolve(file: ConfFile, base: &Path, diagnostics: &mut Diagnostics) -> Conf {
    let mut resolving = Resolving { base, diagnostics, files: file.included };
    let mut resources = Resources::default();
    for list in file.lists {
        resolving.list(list, &mut resources);
    }
    for zone in file.zones {
        resolving.zone(zone, &mut resources);
    }
    if let Some(rulesets) = file.rulesets {
        resolving.rulesets(rulesets, &mut resources);
    }
    for gateway in file.gateways {
        resolving.gateway(gateway, &mut resources);
    }
    if resources.zones.is_empty() && resources.gateways.is_empty() {
        let message =
            "there is no `[[zones]]` and no `[[gateways]]`: every request would be answered with 404";
        resolving.diagnostics.push(Diagnostic::warning(Code::ConfUnprotected, message));
    }
    for provider in file.providers {
        resolving.provider(provider, &mut resources);
    }
    let gateway_hosts = resolving.hosts(file.gateway_hosts, &resources, "a gateway host");
    if !file.node.value.bytes().all(|b| b.is_ascii_alphanumeric()) || file.node.value.len() > 16 {
        resolving.bad(&file.node.place, "`node` takes at most 16 letters and digits");
    }
    let listeners = resolving.listeners(file.listeners, &resources);
    let secrets_key = resolving.secrets_key(file.secrets_key_file);
    resolving.warn_of_tls(&resources, &listeners, secrets_key.is_some());
    Conf {
        state_dir: resolving.path(&file.state_dir),
        ai_log_retention: file.ai_log_retention,
        ai_log_size: file.ai_log_size,
        security_event_retention: file.security_event_retention,
        security_event_size: file.security_event_size,
        node: file.node.value,
        threads: threads(file.threads),
        scan_threads: file.scan_threads.max(1),
        scan_cpu: file.scan_cpu,
        graceful_stop: file.graceful_stop,
        log_level: file.log_level,
        access_log: file.access_log.map(|log| resolving.access_log(log)),
        tracing: file.tracing.map(|tracing| resolving.tracing(tracing)),
        trusted_proxies: file.trusted_proxies,
        gateway_hosts,
        gateway_token_headers: resolving.header_names(file.gateway_token_headers),
        deprecations: Arc::new(resolving.deprecations(file.deprecations, file.dns.srv_names.clone())),
        mail: file.mail.and_then(|mail| resolving.mail(mail)),
        dns: resolving.dns(file.dns, &listeners, &resources),
        ticket_secret: resolving.ticket_secret(file.certificates.ticket_key_file.clone()),
        certificates: Arc::new(resolving.certificates(file.certificates, file.custom_hostnames, &listeners)),
        listeners,
        limits: file.limits,
        upstream: file.upstream,
        admin_address: file.admin_address,
        api_tokens: file.api_tokens,
        api_keys: file.api_keys,
        api_rate_limit: file.api_rate_limit,
        private_webhooks: file.private_webhooks,
        modified: rfc3339(std::time::UNIX_EPOCH),
        owasp: resolving.rules(file.owasp),
        sensitive_data: resolving.rules(file.sensitive_data),
        model_prices: Arc::new(resolving.prices(file.model_prices).unwrap_or_default()),
        geo: Arc::new(resolving.geo(file.geo_databases)),
        challenges: resolving.challenges(file.challenges),
        secrets_key,
        resources,
        files: resolving.files,
    }
}

fn threads(asked: usize) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if asked == 0 { cores() } else { asked }
}

struct Resolving<'a> {
    base: &'a Path,
    diagnostics: &'a mut Diagnostics,
    /// Every file and folder that is named.
    files: BTreeSet<PathBuf>,
}

impl Resolving<'_> {
    fn bad(&mut self, place: &Place, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(Code::ConfBadValue, message).at(place.clone()));
    }

    fn conflict(&mut self, place: &Place, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(Code::ConfConflict, message).at(place.clone()));
    }

    fn path(&self, path: &Path) -> PathBuf {
        self.base.join(path)
    }

    fn existing(&mut self, file: &Located<String>) -> PathBuf {
        let path = self.path(Path::new(&file.value));
        self.files.insert(path.clone());
        let found = std::fs::metadata(&path).map(|found| found.is_file() || found.is_dir());
        let problem = match found {
            Ok(true) => None,
            Ok(false) => Some("expected a file, found a pipe or device".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(problem) = problem {
            let message = format!("cannot read `{}`: {problem}", path.display());
            self.diagnostics.push(Diagnostic::error(Code::ConfUnreadable, message).at(file.place.clone()));
        }
        path
    }

    fn host(&mut self, text: &str, place: &Place) -> Option<HostName> {
        HostName::parse_international(text).map_err(|message| self.bad(place, message)).ok()
    }

    fn gateway(&mut self, file: GatewayFile, resources: &mut Resources) {
        for part in [&file.account, &file.id] {
            if !GatewayId::is_path_word(&part.value) {
                self.bad(
                    &part.place,
                    format!("expected 1 to 64 letters, digits, `-` or `_`, found `{}`", part.value),
                );
            }
        }
        let mut settings = file.settings;
        if let Some(attempts) = file.retry_max_attempts {
            match u32::try_from(attempts.value).ok().filter(|attempts| (1..=5).contains(attempts)) {
                Some(attempts) => settings.retry_max_attempts = attempts,
                None => self.bad(&attempts.place, "`gateways.retry_max_attempts` takes 1 to 5"),
            }
        }
        settings.waf_paranoia_level = file.waf_paranoia_level.and_then(|level| {
            let fits = u8::try_from(level.value).ok().filter(|level| (1..=4).contains(level));
            if fits.is_none() {
                self.bad(&level.place, "`gateways.waf.paranoia_level` takes 1 to 4");
            }
            fits
        });
        if let Some(guardrail) = file.guardrail {
            let (guardrail, policy) = self.guardrail(guardrail);
            (settings.guardrail, settings.content_policy) = (Some(guardrail), policy);
        }
        settings.mcp_servers = self.mcp_servers(file.mcp_servers);
        settings.dlp = self.dlp(file.dlp_policies);
        settings.otel = self.span_collectors(file.otel);
        settings.limits = file.limits.iter().filter_map(|limit| self.limit(limit)).collect();
        let gateway = Gateway {
            created_on: String::new(),
            modified_on: String::new(),
            account: AccountId::new(file.account.value),
            id: GatewayId::new(file.id.value),
            authentication: file.authentication,
            settings,
        };
        for route in file.routes {
            self.route(route, &gateway, resources);
        }
        let key = (gateway.account.clone(), gateway.id.clone());
        let gateway = Declared::in_file(gateway, file.id.place.clone());
        if resources.gateways.insert(key, gateway).is_some() {
            self.conflict(&file.id.place, "this gateway is declared twice");
        }
    }

    fn limit(&mut self, file: &LimitFile) -> Option<Limit> {
        if file.interval.value.is_zero() {
            self.bad(&file.interval.place, "`gateways.limits.interval` must be above 0");
            return None;
        }
        let Some(limit) = file.measure.amount(file.limit.value) else {
            self.bad(
                &file.limit.place,
                "`gateways.limits.limit` takes a whole number of requests or tokens, or dollars; 0 or more",
            );
            return None;
        };
        let mut by = Vec::new();
        for text in file.by.iter().flat_map(|by| &by.value) {
            match Dimension::parse(text) {
                Some(dimension) => by.push(dimension),
                None => {
                    let place = file.by.as_ref().map_or(&file.limit.place, |by| &by.place);
                    self.bad(
                        place,
                        format!("expected `token`, `model`, `provider` or `metadata.KEY`, found `{text}`"),
                    );
                }
            }
        }
        let only = file.only.as_ref().and_then(|only| {
            limit_filters(&only.value).map_err(|message| self.bad(&only.place, message)).ok()
        });
        Some(Limit {
            by,
            only: only.unwrap_or_default(),
            measure: file.measure,
            limit,
            interval: file.interval.value,
            technique: file.technique,
        })
    }

    /// From the file, else from the environment.
    fn secrets_key(&mut self, file: Option<Located<String>>) -> Option<MasterKey> {
        let Some(file) = file else {
            let text = std::env::var("PORTCULLIS_SECRETS_KEY").ok()?;
            return match MasterKey::parse(&text) {
                Ok(key) => Some(key),
                Err(message) => {
                    let message = format!("PORTCULLIS_SECRETS_KEY: {message}");
                    self.diagnostics.push(Diagnostic::error(Code::ConfBadValue, message));
                    None
                }
            };
        };
        let path = self.existing(&file);
        let text = zeroize::Zeroizing::new(read_text(&path).ok()?);
        let parsed = MasterKey::parse(&text);
        parsed.map_err(|message| self.bad(&file.place, format!("`secrets_key_file`: {message}"))).ok()
    }

    fn prices(&mut self, file: Option<Located<String>>) -> Option<Prices> {
        let file = file?;
        let path = self.existing(&file);
        let text = read_text(&path).ok()?;
        Prices::parse(&text).map_err(|message| self.bad(&file.place, message)).ok()
    }

    fn geo(&mut self, files: Option<Located<Vec<String>>>) -> GeoDatabases {
        let mut databases = GeoDatabases::default();
        let Some(Located { value, place }) = files else { return databases };
        for name in value {
            let file = Located { value: name, place: place.clone() };
            let path = self.existing(&file);
            // `existing` has reported a file that cannot be read.
            let Ok(bytes) = read_database(&path) else { continue };
            if let Err(message) = databases.add(bytes) {
                self.bad(&file.place, format!("`{}`: {message}", path.display()));
            }
        }
        databases
    }

    fn provider(&mut self, file: ProviderFile, resources: &mut Resources) {
        if !GatewayId::is_path_word(&file.slug.value) {
            self.bad(
                &file.slug.place,
                format!("expected 1 to 64 letters, digits, `-` or `_`, found `{}`", file.slug.value),
            );
        }
        if provider::is_reserved(&file.slug.value) {
            let message = format!("`{}` stands for whatever provider a model names", file.slug.value);
            self.bad(&file.slug.place, message);
        }
        match OriginUrl::parse(&file.base_url.value) {
            Ok(url) if file.slug.value.starts_with(CUSTOM_PREFIX) && !file.allow_private => {
                if !url.tls || url.is_private() {
                    let message = "a custom provider is reached by `https` at a public address; \
                                   `allow_private = true` allows others";
                    self.bad(&file.base_url.place, message);
                }
            }
            Ok(_) => {}
            Err(message) => self.bad(&file.base_url.place, message),
        }
        let provider = Provider {
            slug: file.slug.value.clone(),
            base_url: file.base_url.value,
            allow_private: file.allow_private || !file.slug.value.starts_with(CUSTOM_PREFIX),
        };
        let provider = Declared::in_file(provider, file.slug.place.clone());
        if resources.providers.insert(file.slug.value, provider).is_some() {
            self.conflict(&file.slug.place, "this provider is declared twice");
        }
    }

    /// Hosts of our own, which are no zones.
    fn hosts(
        &mut self,
        hosts: Option<Located<Vec<String>>>,
        resources: &Resources,
        what: &str,
    ) -> Vec<HostName> {
        let Some(Located { value, place }) = hosts else { return Vec::new() };
        let hosts: Vec<HostName> = value.iter().filter_map(|text| self.host(text, &place)).collect();
        for host in &hosts {
            if resources.zones.named(host.as_str()).is_some() {
                self.conflict(&place, format!("`{host}` is both {what} and a zone"));
            }
        }
        hosts
    }

    fn header_names(&mut self, names: Option<Located<Vec<String>>>) -> Vec<String> {
        let Some(Located { value, place }) = names else { return Vec::new() };
        for name in &value {
            if http::HeaderName::try_from(name.as_str()).is_err() {
                self.bad(&place, format!("`{name}` is not a header name"));
            }
            if name.eq_ignore_ascii_case("authorization") {
                self.bad(
                    &place,
                    "`authorization` carries the provider's own credential; choose another header",
                );
            }
        }
        value.into_iter().map(|name| name.to_ascii_lowercase()).collect()
    }

    fn rules(&mut self, paths: Option<Located<Vec<String>>>) -> Option<Vec<String>> {
        let Located { value, place } = paths?;
        let found = value.iter().map(|path| match path.as_str() {
            crate::rules::BUILT_IN_OWASP => PathBuf::from(path),
            _ => self.existing(&Located { value: path.clone(), place: place.clone() }),
        });
        let found: Vec<PathBuf> = found.collect();
        Some(found.iter().map(|path| path.display().to_string()).collect())
    }
}

/// Settings that only take effect at start, by name, if two configurations differ in them.
pub fn needs_restart(before: &Conf, after: &Conf) -> Vec<&'static str> {
    let listeners = |conf: &Conf| -> BTreeMap<_, _> {
        conf.listeners
            .iter()
            .map(|l| {
                (
                    l.address,
                    (
                        l.proxy_protocol_from.clone(),
                        l.certificates.clone(),
                        l.is_tls,
                        l.protocol == ListenerProtocol::Dns,
                        (l.speaks_http3, l.http3_port),
                    ),
                )
            })
            .collect()
    };
    [
        ("listeners", listeners(before) != listeners(after)),
        ("dns.listeners", before.dns.listeners != after.dns.listeners),
        ("dns.rate_limit", before.dns.rate_limit != after.dns.rate_limit),
        ("dns.rate_limit_exempt", before.dns.rate_limit_exempt != after.dns.rate_limit_exempt),
        ("admin.address", before.admin_address != after.admin_address),
        ("threads", before.threads != after.threads),
        ("scan_threads", before.scan_threads != after.scan_threads),
        ("scan_cpu_percent", before.scan_cpu != after.scan_cpu),
        ("state_dir", before.state_dir != after.state_dir),
        ("ai_log_retention", before.ai_log_retention != after.ai_log_retention),
        ("ai_log_size", before.ai_log_size != after.ai_log_size),
        ("security_event_retention", before.security_event_retention != after.security_event_retention),
        ("security_event_size", before.security_event_size != after.security_event_size),
        ("certificates.ticket_key_file", before.ticket_secret != after.ticket_secret),
        ("node", before.node != after.node),
        ("access_log", before.access_log != after.access_log),
        ("tracing", before.tracing != after.tracing),
        ("log_level", before.log_level != after.log_level),
        ("graceful_stop", before.graceful_stop != after.graceful_stop),
        ("limits.scan_queue", before.limits.scan_queue != after.limits.scan_queue),
        ("upstream.pool", before.upstream.pool != after.upstream.pool),
    ]
    .into_iter()
    .filter_map(|(name, differs)| differs.then_some(name))
    .collect()
}
