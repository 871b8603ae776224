//! How a zone is served to resolvers (spec, "SOA record fields").

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// DNS settings of a zone; those of an account are what its new zones begin with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ZoneDnsSettings {
    /// Whether all CNAME records are answered with the addresses that they lead to.
    pub flatten_all_cnames: bool,
    pub foundation_dns: bool,
    /// Whether NS records at the zone's own name are served beside those of the server.
    pub multi_provider: bool,
    pub secondary_overrides: bool,
    /// Seconds.
    pub ns_ttl: u32,
    pub zone_mode: ZoneMode,
    pub nameservers: NameServerSet,
    /// Names below the zone that are its name servers, if its set is [`NameServerSet::OF_ZONE`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vanity_name_servers: Vec<String>,
    pub soa: SoaSettings,
}

impl ZoneDnsSettings {
    pub const NS_TTL: RangeInclusive<u32> = 30..=86_400;
}

impl Default for ZoneDnsSettings {
    fn default() -> Self {
        Self {
            flatten_all_cnames: false,
            foundation_dns: false,
            multi_provider: false,
            secondary_overrides: false,
            ns_ttl: 86_400,
            zone_mode: ZoneMode::Standard,
            nameservers: NameServerSet::default(),
            vanity_name_servers: Vec::new(),
            soa: SoaSettings::default(),
        }
    }
}

/// DNS settings of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountDnsSettings {
    /// What new zones begin with.
    pub zone_defaults: ZoneDnsSettings,
    /// Whether nothing is proxied in any zone.
    pub enforce_dns_only: bool,
}

/// What a zone is served for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZoneMode {
    #[default]
    Standard,
    /// Requests only: queries are refused.
    CdnOnly,
    /// Queries only: nothing is proxied.
    DnsOnly,
}

/// Which name servers a zone has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameServerSet {
    /// `svc.standard`, `svc.advanced`, `custom.account`, `custom.tenant` or `custom.zone`.
    pub r#type: String,
    pub ns_set: u8,
}

impl NameServerSet {
    /// The type of zones whose name servers have names below them.
    pub const OF_ZONE: &str = "custom.zone";
}

impl Default for NameServerSet {
    fn default() -> Self {
        // Those of the configuration, which are the operator's own.
        Self { r#type: "custom.account".to_owned(), ns_set: 1 }
    }
}

/// The start of authority of a zone, in seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SoaSettings {
    /// The primary name server; the first of the zone's if there is none.
    pub mname: Option<String>,
    /// The administrator's mail address as a name: `@` is a dot, dots before it are `\.`.
    pub rname: Option<String>,
    pub refresh: u32,
    pub retry: u32,
    pub expire: u32,
    pub min_ttl: u32,
    pub ttl: u32,
}

impl SoaSettings {
    pub const REFRESH: RangeInclusive<u32> = 600..=86_400;
    pub const RETRY: RangeInclusive<u32> = 600..=3_600;
    pub const EXPIRE: RangeInclusive<u32> = 86_400..=2_419_200;
    pub const TTL: RangeInclusive<u32> = 1_800..=3_600;
    pub const MIN_TTL: RangeInclusive<u32> = 60..=86_400;

    /// A mail address as a name: `a.b@example.com` is `a\.b.example.com`. A name is what it is.
    pub fn encoded_rname(address: &str) -> String {
        match address.rsplit_once('@') {
            Some((local, domain)) => format!("{}.{domain}", local.replace('.', "\\.")),
            None => address.to_owned(),
        }
    }
}

impl Default for SoaSettings {
    fn default() -> Self {
        Self {
            mname: None,
            rname: None,
            refresh: 10_000,
            retry: 2_400,
            expire: 604_800,
            min_ttl: 1_800,
            ttl: 3_600,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_addresses_become_names() {
        assert_eq!(SoaSettings::encoded_rname("admin@example.com"), "admin.example.com");
        assert_eq!(SoaSettings::encoded_rname("a.b@example.com"), "a\\.b.example.com");
        assert_eq!(SoaSettings::encoded_rname("admin.example.com"), "admin.example.com");
    }

    #[test]
    fn defaults_are_within_bounds() {
        let soa = SoaSettings::default();
        assert!(SoaSettings::REFRESH.contains(&soa.refresh) && SoaSettings::RETRY.contains(&soa.retry));
        assert!(SoaSettings::EXPIRE.contains(&soa.expire) && SoaSettings::TTL.contains(&soa.ttl));
        assert!(SoaSettings::MIN_TTL.contains(&soa.min_ttl));
    }
}
