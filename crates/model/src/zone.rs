//! A zone: a name, everything below it, and where its requests go.

use std::time::Duration;

use super::id::ZoneId;
use super::ruleset::Ruleset;

#[derive(Clone, Debug, PartialEq)]
pub struct Zone {
    pub id: ZoneId,
    /// The name in lower case, without a final dot. Names below it belong to it too.
    pub name: String,
    /// `http://` or `https://` URLs without a path.
    pub origins: Vec<String>,
    pub balance: Balance,
    pub origin_protocol: OriginProtocol,
    /// Certificates trusted for origins beside the system's, as PEM.
    pub origin_ca: Option<String>,
    pub health_check: Option<HealthCheck>,
    /// Entry point rulesets, at most one for each phase.
    pub rulesets: Vec<Ruleset>,
}

/// How the next origin is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    #[default]
    RoundRobin,
    LeastConnections,
}

/// What is spoken to origins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OriginProtocol {
    #[default]
    Http1,
    /// HTTP/2: by ALPN over TLS, by prior knowledge without.
    Http2,
}

/// An active check: a `GET` that must answer 2xx.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    pub path: String,
    pub interval: Duration,
}
