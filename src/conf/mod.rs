//! Process settings and file-declared resources: `file` (as written) → `resolve` → [`Conf`].

mod access_log_file;
mod certificate_file;
pub mod certificate_settings;
mod challenge_file;
mod deprecation_calendar;
mod deprecation_file;
mod dns_file;
mod environment;
pub mod file;
mod gateway_file;
mod included;
pub mod keys;
mod list_file;
mod listener;
mod mail_file;
mod mail_settings;
mod name_server_sets;
pub mod resolve;
mod route_file;
mod table;
mod tracing_file;
mod tracing_settings;
pub mod units;
mod zone_file;

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;

use crate::clock::rfc3339;
use crate::events::AccessLogSettings;
use crate::geo::GeoDatabases;
pub use certificate_settings::{CertificateSettings, TicketSecret};
use challenge::ChallengeKeys;
pub use deprecation_calendar::DeprecationCalendar;
use diagnostic::{Code, Diagnostic, Diagnostics, Source};
pub use file::{ConfFile, LogLevel};
use gateway::price::Prices;
use gateway::vault::MasterKey;
pub use listener::{Listener, ListenerProtocol};
pub use mail_file::MailSecurity;
pub use mail_settings::MailSettings;
use model::origin_url::is_private;
use model::{HostName, Resources, Secret};
pub use name_server_sets::NameServerSets;
use seclang::BodyLimits;
pub use table::Located;
pub use tracing_settings::TracingSettings;
use units::{Bytes, Percent};

/// What the process may rely on: already valid.
#[derive(Clone, Debug)]
pub struct Conf {
    pub state_dir: PathBuf,
    /// How long rows of the AI log are kept; zero for no end.
    pub ai_log_retention: Duration,
    /// What its rows may take, in a file.
    pub ai_log_size: Bytes,
    /// How long security events are kept; zero for no end.
    pub security_event_retention: Duration,
    /// What they may take, in a file.
    pub security_event_size: Bytes,
    /// Suffix of request ids: letters and digits.
    pub node: String,
    /// Worker threads of each listener.
    pub threads: usize,
    pub scan_threads: usize,
    /// How much of the time each of these may work.
    pub scan_cpu: Percent,
    pub graceful_stop: Duration,
    pub log_level: LogLevel,
    /// Where requests are logged, if not with the other events.
    pub access_log: Option<AccessLogSettings>,
    /// Where spans of requests go, if anywhere.
    pub tracing: Option<TracingSettings>,
    pub trusted_proxies: Vec<IpNet>,
    pub gateway_hosts: Vec<HostName>,
    /// Further header names that may carry a gateway token, in lower case.
    pub gateway_token_headers: Vec<String>,
    pub listeners: Vec<Listener>,
    pub limits: Limits,
    pub upstream: UpstreamSettings,
    pub challenges: ChallengeSettings,
    pub dns: DnsSettings,
    /// What ends, and how it is served.
    pub deprecations: Arc<DeprecationCalendar>,
    /// How mails are sent; `None` if none are.
    pub mail: Option<Arc<MailSettings>>,
    pub certificates: Arc<CertificateSettings>,
    /// What session tickets are made with on all nodes.
    pub ticket_secret: Option<TicketSecret>,
    pub admin_address: SocketAddr,
    /// Tokens that may do everything over the API.
    pub api_tokens: Vec<Secret>,
    /// E-mail addresses with their keys, which may do the same.
    pub api_keys: Vec<(String, Secret)>,
    /// Requests that each token may send over the API in five minutes; 0 for no end.
    pub api_rate_limit: u64,
    /// Whether webhooks may be on this machine or in private networks.
    pub private_webhooks: bool,
    /// SecLang files and folders; `None` for the rules in the binary.
    pub owasp: Option<Vec<String>>,
    /// YAML files and folders; `None` for the rules in the binary.
    pub sensitive_data: Option<Vec<String>>,
    /// An operator's prices by model.
    pub model_prices: Arc<Prices>,
    /// Where addresses are.
    pub geo: Arc<GeoDatabases>,
    /// What providers' keys are sealed with.
    pub secrets_key: Option<MasterKey>,
    pub resources: Resources,
    /// When the file was last changed (RFC 3339).
    pub modified: String,
    /// Every file and folder that the configuration names and that is read at a reload.
    pub files: BTreeSet<PathBuf>,
}

impl Conf {
    /// Whether queries are answered, over any transport.
    pub fn answers_queries(&self) -> bool {
        self.dns.is_answered(&self.listeners)
    }

    /// The HTTPS record of proxied names (RFC 9460): the host itself, over what listeners speak beside HTTP/1. Clients come
    /// to port 443.
    pub fn https_record(&self) -> Option<&'static str> {
        let mut of_http =
            self.listeners.iter().filter(|listener| listener.protocol == ListenerProtocol::Http);
        let speaks_http3 = of_http.clone().any(|listener| listener.told_http3_port() == Some(443));
        match speaks_http3 {
            true => Some("1 . alpn=\"h3,h2\""),
            false => of_http.any(Listener::speaks_tls).then_some("1 . alpn=\"h2\""),
        }
    }
}

/// What challenges ask for and are worth.
#[derive(Clone, Debug)]
pub struct ChallengeSettings {
    /// Bits that each hash of a puzzle begins with; each more doubles the time.
    pub bits: u8,
    /// How long who passed is not challenged again.
    pub clearance: Duration,
    /// What is signed with; `None` for the key of this installation.
    pub keys: Option<ChallengeKeys>,
}

impl Default for ChallengeSettings {
    fn default() -> Self {
        Self { bits: 13, clearance: Duration::from_mins(30), keys: None }
    }
}

/// How zones are served to resolvers, and how records are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsSettings {
    /// Where queries are answered, over UDP and TCP.
    pub listeners: Vec<SocketAddr>,
    /// Hosts at which queries are answered over HTTPS.
    pub https_hosts: Vec<HostName>,
    /// Who is asked for names elsewhere that zones lead to; those of the system if there are none.
    pub resolvers: Vec<SocketAddr>,
    /// What proxied names are answered with.
    pub addresses: Vec<IpAddr>,
    /// The name servers of zones.
    pub name_servers: NameServerSets,
    pub txt_content: TxtContent,
    /// Whether each part of the name of a record that requests go to starts with a letter and ends with a letter or digit.
    pub strict_names: bool,
    /// Whether proxied records may name addresses in private networks.
    pub private_origins: bool,
    /// Whether name servers of others may be in private networks.
    pub private_peers: bool,
    /// Whether requests for proxied records go on with TLS.
    pub origin_scheme: OriginScheme,
    /// Where they go: without TLS and with it.
    pub http_port: u16,
    pub https_port: u16,
    /// Answers over UDP that a network gets in a second from each thread; 0 for no limit.
    pub rate_limit: u32,
    /// Networks without that limit.
    pub rate_limit_exempt: Vec<IpNet>,
    /// One in this many queries is logged; 0 for none.
    pub query_log: u32,
}

impl Default for DnsSettings {
    fn default() -> Self {
        Self {
            listeners: Vec::new(),
            https_hosts: Vec::new(),
            resolvers: Vec::new(),
            addresses: Vec::new(),
            name_servers: NameServerSets::default(),
            txt_content: TxtContent::default(),
            strict_names: true,
            private_origins: false,
            private_peers: false,
            origin_scheme: OriginScheme::default(),
            http_port: 80,
            https_port: 443,
            rate_limit: 500,
            rate_limit_exempt: Self::loopback(),
            query_log: 0,
        }
    }
}

impl DnsSettings {
    /// The networks of this machine.
    fn loopback() -> Vec<IpNet> {
        let v4 = ipnet::Ipv4Net::new_assert(std::net::Ipv4Addr::new(127, 0, 0, 0), 8);
        vec![v4.into(), IpAddr::from(std::net::Ipv6Addr::LOCALHOST).into()]
    }

    /// Whether queries are answered, over any transport.
    pub(crate) fn is_answered(&self, listeners: &[Listener]) -> bool {
        let is_over_tls = || listeners.iter().any(|listener| listener.protocol == ListenerProtocol::Dns);
        !self.listeners.is_empty() || !self.https_hosts.is_empty() || is_over_tls()
    }

    /// Whether a proxied record may name an address: not the edge itself, and nothing private unless that is allowed.
    pub fn may_be_origin(&self, address: IpAddr) -> bool {
        let is_own = self.addresses.iter().any(|own| own.to_canonical() == address.to_canonical());
        !is_own && (self.private_origins || !is_private(address))
    }
}

/// How the API shows the content of TXT records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TxtContent {
    #[default]
    Quoted,
    /// Without quotes if it was sent so: some clients look for what they sent.
    AsSent,
}

/// Whether requests for proxied records go on with TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OriginScheme {
    /// As they came.
    #[default]
    AsClient,
    Http,
    Https,
}

/// Every limit of DESIGN.md section 10, with its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub request_line: Bytes,
    pub header_section: Bytes,
    pub header_fields: usize,
    pub header_deadline: Duration,
    pub idle_timeout: Duration,
    /// How long a client may take nothing of its answer.
    pub write_timeout: Duration,
    pub connections: usize,
    pub connections_per_address: usize,
    pub inspected_body: Bytes,
    /// All bodies held at once.
    pub inspected_bodies: Bytes,
    pub inspected_body_policy: BodyPolicy,
    pub inspected_response: Bytes,
    pub arguments: usize,
    pub json_depth: usize,
    pub multipart_parts: usize,
    /// What a request may spend in rules; zero for no end.
    pub rules_time: Duration,
    pub rules_time_policy: RulesTimePolicy,
    /// The longest response body that is kept.
    pub cached_response: Bytes,
    /// All responses that are kept.
    pub cached_responses: Bytes,
    /// How long a request waits for a response that is on its way to be kept; zero for not at all.
    pub cache_lock_timeout: Duration,
    pub scanned_body: Bytes,
    /// All response bodies waiting to be scanned.
    pub scan_queue: Bytes,
    pub decompression_ratio: usize,
    pub decompressed_body: Bytes,
}

impl Limits {
    /// The longest head of a request in frames, in bytes: its line and its fields.
    pub fn head_bytes(&self) -> usize {
        self.header_section.0 + self.request_line.0
    }
}

impl From<&Limits> for BodyLimits {
    fn from(limits: &Limits) -> Self {
        Self {
            arguments: limits.arguments,
            json_depth: limits.json_depth,
            multipart_parts: limits.multipart_parts,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_line: Bytes::kib(8),
            header_section: Bytes::kib(32),
            header_fields: 100,
            header_deadline: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(60),
            connections: 10_000,
            connections_per_address: 256,
            inspected_body: Bytes::mib(10),
            inspected_bodies: Bytes::mib(512),
            inspected_body_policy: BodyPolicy::Refuse,
            inspected_response: Bytes::kib(512),
            arguments: 1000,
            json_depth: 64,
            multipart_parts: 128,
            rules_time: Duration::ZERO,
            rules_time_policy: RulesTimePolicy::Log,
            cached_response: Bytes::mib(8),
            cached_responses: Bytes::mib(256),
            cache_lock_timeout: Duration::ZERO,
            scanned_body: Bytes(1_000_000),
            scan_queue: Bytes::mib(64),
            decompression_ratio: 100,
            decompressed_body: Bytes::mib(8),
        }
    }
}

/// What happens to a request whose time for rules is over before the rules are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesTimePolicy {
    /// It goes on, and an event says so.
    Log,
    Block,
}

/// What happens to a request whose body is longer than what is inspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyPolicy {
    /// 413, or 503 if all bodies together are too many.
    Refuse,
    /// The rest goes on unseen, with an event.
    Pass,
}

/// Timeouts towards origins and providers, and how many idle connections are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamSettings {
    pub connect_timeout: Duration,
    /// Longest wait for the first byte of a response and between two pieces of it.
    pub read_timeout: Duration,
    pub idle_timeout: Duration,
    pub pool: usize,
}

impl Default for UpstreamSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(60),
            pool: 128,
        }
    }
}

/// Reads and resolves a configuration file.
///
/// # Errors
/// Every error of the file, each with its place.
pub fn load(path: &Path) -> Result<(Conf, Diagnostics), Diagnostics> {
    without_errors(load_leniently(path))
}

/// Reads and resolves a configuration file as far as that can be done; settings with errors have their defaults.
pub fn load_leniently(path: &Path) -> (Option<Conf>, Diagnostics) {
    let name = path.display().to_string();
    match crate::named_file::read_text(path) {
        Ok(text) => {
            let base = path.parent().unwrap_or(Path::new("."));
            let (mut conf, found) = parse_leniently(&Source::new(name, text), base);
            let modified = std::fs::metadata(path).and_then(|file| file.modified());
            if let (Some(conf), Ok(modified)) = (&mut conf, modified) {
                conf.modified = rfc3339(modified);
                let rulesets = std::mem::take(&mut conf.resources.rulesets);
                for (owner, mut declared) in rulesets {
                    let ruleset = &mut Arc::make_mut(&mut declared).value;
                    ruleset.complete(ruleset.kind, "", &conf.modified);
                    conf.resources.rulesets.insert(owner, declared);
                }
            }
            (conf, found)
        }
        Err(error) => {
            let message = format!("cannot read `{name}`: {error}");
            (None, Diagnostic::error(Code::ConfUnreadable, message).into())
        }
    }
}

/// Resolves the text of a configuration file; relative paths in it start at `base`.
///
/// # Errors
/// Every error of the text, each with its place.
pub fn parse(source: &Arc<Source>, base: &Path) -> Result<(Conf, Diagnostics), Diagnostics> {
    without_errors(parse_leniently(source, base))
}

fn parse_leniently(source: &Arc<Source>, base: &Path) -> (Option<Conf>, Diagnostics) {
    let (file, mut diagnostics) = file::read(source);
    let conf = file.map(|mut file| {
        included::add(&mut file, base, &mut diagnostics);
        resolve::resolve(file, base, &mut diagnostics)
    });
    (conf, diagnostics)
}

fn without_errors(
    (conf, diagnostics): (Option<Conf>, Diagnostics),
) -> Result<(Conf, Diagnostics), Diagnostics> {
    match conf {
        Some(conf) if !diagnostics.has_errors() => Ok((conf, diagnostics)),
        _ => Err(diagnostics),
    }
}
