//! A zone: a name, everything below it, and where its requests go.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::certificate_pack::TlsSettings;
use super::compression::CompressionName;
use super::custom_hostname::FallbackOrigin;
use super::dns_settings::ZoneDnsSettings;
use super::id::{AccountId, ZoneId};
use super::milliseconds;
use super::payload_key::PayloadKey;
use super::ruleset::Ruleset;
use super::traffic_settings::TrafficSettings;
use super::zone_dnssec::ZoneDnssec;
use super::zone_transfer::{IncomingTransfer, OutgoingTransfer};

/// A zone as it is stored; texts from before a field was there have its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Zone {
    pub id: ZoneId,
    pub account: AccountId,
    /// The name in lower case, without a final dot. Names below it belong to it too.
    pub name: String,
    /// `http://` or `https://` URLs without a path.
    #[serde(default)]
    pub origins: Vec<String>,
    #[serde(default)]
    pub balance: Balance,
    #[serde(default)]
    pub origin_protocol: OriginProtocol,
    /// Certificates trusted for origins beside the system's, as PEM.
    #[serde(default)]
    pub origin_ca: Option<String>,
    #[serde(default)]
    pub health_check: Option<HealthCheck>,
    /// Entry point rulesets, at most one for each phase.
    #[serde(default)]
    pub rulesets: Vec<Ruleset>,
    /// The short form of an entry point that runs the OWASP ruleset.
    #[serde(default)]
    pub waf: Option<WafSettings>,
    #[serde(default)]
    pub sensitive_data: SensitiveDataSettings,
    #[serde(default, skip_serializing_if = "is_default")]
    pub dns: ZoneDnsSettings,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dnssec: Option<Box<ZoneDnssec>>,
    /// Who has it from us; `None` if nobody ever had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outgoing: Option<Box<OutgoingTransfer>>,
    /// Who it comes from, if it is not made here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incoming: Option<Box<IncomingTransfer>>,
    /// Whether others may make it, or zones below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<ZoneHold>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_origin: Option<Box<FallbackOrigin>>,
    #[serde(default, skip_serializing_if = "is_default_tls")]
    pub tls: ZoneTls,
    #[serde(default, skip_serializing_if = "is_default_traffic")]
    pub traffic: TrafficSettings,
    /// How long who solved a challenge is not challenged again, in seconds; as the edge has it if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge_ttl: Option<u32>,
    /// The short form of an entry point that compresses all responses: the codings, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compression: Vec<CompressionName>,
    /// Who is asked for a name and a password.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub basic_auth: Vec<BasicAuth>,
    /// How each connection to an origin begins.
    #[serde(default, skip_serializing_if = "is_default_proxy_protocol")]
    pub origin_proxy_protocol: OriginProxyProtocol,
    /// Who is asked of whether a request may go on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forward_auth: Vec<ForwardAuth>,
    /// When it was made and last changed (RFC 3339); empty if a file declares it.
    #[serde(default)]
    pub created_on: String,
    #[serde(default)]
    pub modified_on: String,
}

impl Zone {
    /// Whether other name servers have it from here.
    pub fn is_handed_over(&self) -> bool {
        self.outgoing.as_deref().is_some_and(|outgoing| outgoing.is_enabled)
    }

    /// A zone with this name and default settings.
    pub fn new(id: ZoneId, account: AccountId, name: impl Into<String>) -> Self {
        Self {
            id,
            account,
            name: name.into(),
            origins: Vec::new(),
            balance: Balance::default(),
            origin_protocol: OriginProtocol::default(),
            origin_ca: None,
            health_check: None,
            rulesets: Vec::new(),
            waf: None,
            sensitive_data: SensitiveDataSettings::default(),
            dns: ZoneDnsSettings::default(),
            dnssec: None,
            outgoing: None,
            incoming: None,
            hold: None,
            fallback_origin: None,
            tls: ZoneTls::default(),
            traffic: TrafficSettings::default(),
            challenge_ttl: None,
            compression: Vec::new(),
            basic_auth: Vec::new(),
            forward_auth: Vec::new(),
            origin_proxy_protocol: OriginProxyProtocol::default(),
            created_on: String::new(),
            modified_on: String::new(),
        }
    }
}

fn is_default_tls(settings: &ZoneTls) -> bool {
    *settings == ZoneTls::default()
}

fn is_default_proxy_protocol(version: &OriginProxyProtocol) -> bool {
    *version == OriginProxyProtocol::Off
}

fn is_default_traffic(settings: &TrafficSettings) -> bool {
    *settings == TrafficSettings::default()
}

/// How a zone speaks TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneTls {
    /// Whether it gets certificates automatically.
    #[serde(default)]
    pub is_automatic: bool,
    #[serde(default)]
    pub settings: TlsSettings,
    /// Whether requests over HTTP are led to HTTPS.
    #[serde(default)]
    pub is_always_https: bool,
    /// HTTP Strict Transport Security (RFC 6797).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict_transport: Option<StrictTransport>,
    /// Who may come, if not everybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_certificates: Option<Arc<ClientCertificates>>,
}

/// Which clients a zone takes by their certificates.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClientCertificates {
    /// The CAs whose certificates are taken, as PEM.
    pub ca: String,
    /// Whether clients without one are refused.
    pub is_required: bool,
}

/// What browsers are told of HTTPS (RFC 6797).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrictTransport {
    /// Seconds.
    pub max_age: u32,
    pub includes_subdomains: bool,
    pub is_preloaded: bool,
}

fn is_default(settings: &ZoneDnsSettings) -> bool {
    *settings == ZoneDnsSettings::default()
}

/// A hold of a zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneHold {
    /// Whether zones below it are held too.
    pub include_subdomains: bool,
    /// From when on it is in force (RFC 3339, with microseconds).
    pub hold_after: String,
}

impl ZoneHold {
    /// Whether it is in force at a moment (RFC 3339, with microseconds).
    pub fn is_in_force(&self, now: &str) -> bool {
        self.hold_after.as_str() <= now
    }
}

/// How the OWASP ruleset runs for a zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WafSettings {
    /// From 1 to 4.
    pub paranoia_level: u8,
    pub score_threshold: i64,
    pub action: Action,
    /// Which requests are judged: a filter expression.
    pub expression: String,
    /// Whether rules of the response phases run.
    pub response_rules: bool,
}

/// How responses of a zone are scanned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SensitiveDataSettings {
    /// Whether the ruleset for sensitive data is deployed by this short form.
    pub enabled: bool,
    /// Which responses are scanned: a filter expression.
    pub expression: String,
    /// What is found goes into the event, sealed with this key.
    pub payload_key: Option<PayloadKey>,
    /// One in this many responses of a path is scanned, from the first on.
    pub sample_every: NonZeroU32,
}

impl Default for SensitiveDataSettings {
    fn default() -> Self {
        Self {
            enabled: false,
            expression: "true".to_owned(),
            payload_key: None,
            sample_every: NonZeroU32::MIN,
        }
    }
}

/// How the next origin is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Balance {
    #[default]
    RoundRobin,
    LeastConnections,
    /// The same for all requests of an address, of IPv6 a network of 64 bits.
    ClientAddress,
    /// The same for all requests of a browser, by a cookie.
    Cookie,
}

/// What is spoken to origins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OriginProtocol {
    #[default]
    Http1,
    /// HTTP/2: by ALPN over TLS, by prior knowledge without.
    Http2,
}

/// Whether a connection to an origin begins with a header that names the client (PROXY protocol).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OriginProxyProtocol {
    #[default]
    Off,
    V1,
    V2,
}

/// Requests that need a name and a password (RFC 7617).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BasicAuth {
    /// Which requests: a filter expression.
    pub expression: String,
    /// What browsers show.
    pub realm: String,
    /// Hashes of passwords (bcrypt), by names.
    pub users: BTreeMap<String, String>,
}

/// Requests that a service answers for: it is asked about each before an origin is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwardAuth {
    /// Which requests: a filter expression.
    pub expression: String,
    /// What is asked, with `GET`; answered with 2xx, the request goes on.
    pub url: String,
    /// Fields of that answer which the origin gets.
    pub copy_headers: Vec<String>,
    /// Longest wait for the answer.
    #[serde(with = "milliseconds")]
    pub timeout: Duration,
}

/// An active check: a `GET` that must answer 2xx.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthCheck {
    pub path: String,
    #[serde(with = "milliseconds")]
    pub interval: Duration,
    /// Longest wait for the answer.
    #[serde(with = "milliseconds", default = "HealthCheck::usual_timeout")]
    pub timeout: Duration,
    /// Checks in a row that have to succeed before an origin that was down gets requests again.
    #[serde(default = "HealthCheck::once")]
    pub healthy_after: NonZeroU32,
    /// Checks in a row that have to fail before an origin gets none.
    #[serde(default = "HealthCheck::once")]
    pub unhealthy_after: NonZeroU32,
}

impl HealthCheck {
    pub fn usual_timeout() -> Duration {
        Duration::from_secs(5)
    }

    fn once() -> NonZeroU32 {
        NonZeroU32::MIN
    }
}
