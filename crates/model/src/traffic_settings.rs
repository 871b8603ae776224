//! How requests of a zone are treated besides its rules, in the fields of the management API.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::word::serde_by_word;

/// Settings of a zone, or of the requests that a rule sets them for. A setting that is absent has the default of the edge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrafficSettings {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_level: Option<SecurityLevel>,
    /// How requests go on to origins of DNS records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssl: Option<OriginEncryption>,
    /// Whether clients may open WebSockets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub websockets: Option<bool>,
    /// The longest body of a request, in MB of 1,000,000 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_upload: Option<u32>,
    /// How long an origin may be silent, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_read_timeout: Option<u32>,
    /// Whether the edge sends the client's country to origins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip_geolocation: Option<bool>,
    /// Whether the edge also sends the client's address to origins as `true-client-ip`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub true_client_ip_header: Option<bool>,
}

impl TrafficSettings {
    /// What `max_upload` takes.
    pub const MEGABYTES: RangeInclusive<u32> = 1..=5_000;
    /// What `proxy_read_timeout` takes.
    pub const SECONDS: RangeInclusive<u32> = 1..=6_000;

    /// The longest body of a request, in bytes.
    pub fn max_upload_bytes(&self) -> Option<u64> {
        self.max_upload.map(|megabytes| u64::from(megabytes) * 1_000_000)
    }

    pub fn read_timeout(&self) -> Option<Duration> {
        self.proxy_read_timeout.map(|seconds| Duration::from_secs(seconds.into()))
    }

    /// Puts what is set here in the place of what was set before.
    pub fn put_into(&self, before: &mut Self) {
        let Self {
            security_level,
            ssl,
            websockets,
            max_upload,
            proxy_read_timeout,
            ip_geolocation,
            true_client_ip_header,
        } = self;
        put(*security_level, &mut before.security_level);
        put(*ssl, &mut before.ssl);
        put(*websockets, &mut before.websockets);
        put(*max_upload, &mut before.max_upload);
        put(*proxy_read_timeout, &mut before.proxy_read_timeout);
        put(*ip_geolocation, &mut before.ip_geolocation);
        put(*true_client_ip_header, &mut before.true_client_ip_header);
    }
}

fn put<T>(new: Option<T>, before: &mut Option<T>) {
    if new.is_some() {
        *before = new;
    }
}

/// Who is challenged before any rule says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SecurityLevel {
    /// Nobody.
    EssentiallyOff,
    /// Everybody who has no clearance.
    UnderAttack,
}

serde_by_word!(SecurityLevel, "security level");

impl SecurityLevel {
    pub const ALL: [Self; 2] = [Self::EssentiallyOff, Self::UnderAttack];

    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::EssentiallyOff => "essentially_off",
            Self::UnderAttack => "under_attack",
        }
    }
}

/// Whether requests go on to origins of DNS records with TLS. Certificates are always verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OriginEncryption {
    /// Never.
    Flexible,
    /// If the client came with it.
    Strict,
    /// Always.
    OriginPull,
}

serde_by_word!(OriginEncryption, "mode");

impl OriginEncryption {
    pub const ALL: [Self; 3] = [Self::Flexible, Self::Strict, Self::OriginPull];

    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Flexible => "flexible",
            Self::Strict => "strict",
            Self::OriginPull => "origin_pull",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_takes_the_place_of_what_was() {
        let all = r#"{"security_level":"under_attack","ssl":"flexible","websockets":false,"max_upload":8,"proxy_read_timeout":5,"ip_geolocation":true,"true_client_ip_header":true}"#;
        let all: TrafficSettings = serde_json::from_str(all).unwrap();
        let mut settings = TrafficSettings::default();
        all.put_into(&mut settings);
        assert_eq!(settings, all);
        TrafficSettings::default().put_into(&mut settings);
        assert_eq!(settings, all);
        TrafficSettings { max_upload: Some(1), ..TrafficSettings::default() }.put_into(&mut settings);
        assert_eq!(settings, TrafficSettings { max_upload: Some(1), ..all });
        assert_eq!(serde_json::to_string(&TrafficSettings::default()).unwrap(), "{}");
        assert!(serde_json::from_str::<TrafficSettings>(r#"{"ssl":"full"}"#).is_err());
    }
}
