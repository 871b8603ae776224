//! How requests of a zone are treated.

use std::ops::RangeInclusive;

use model::{OriginEncryption, SecurityLevel, TrafficSettings};
use serde_json::{Value, json};

use super::Setting;
use super::setting::on_off;

/// How long a clearance may last, in seconds.
const CLEARANCE_SECONDS: RangeInclusive<u32> = 900..=86_400;

/// A number of a range, or nothing for what the edge has.
fn number(value: &Value, range: &RangeInclusive<u32>) -> Option<Option<u32>> {
    if value.is_null() {
        return Some(None);
    }
    let number = u32::try_from(value.as_u64()?).ok()?;
    range.contains(&number).then_some(Some(number))
}

pub const SETTINGS: &[Setting] = &[
    Setting {
        id: "challenge_ttl",
        show: |zone| json!(zone.challenge_ttl),
        set: |zone, value| number(value, &CLEARANCE_SECONDS).map(|ttl| zone.challenge_ttl = ttl),
        expected: "900 to 86400 seconds, or null for what `challenges.clearance` says",
        is_editable: true,
    },
    on_off!("ip_geolocation", traffic.ip_geolocation, false),
    Setting {
        id: "max_upload",
        show: |zone| json!(zone.traffic.max_upload),
        set: |zone, value| {
            number(value, &TrafficSettings::MEGABYTES).map(|most| zone.traffic.max_upload = most)
        },
        expected: "1 to 5000 MB, or null for any length",
        is_editable: true,
    },
    Setting {
        id: "proxy_read_timeout",
        show: |zone| json!(zone.traffic.proxy_read_timeout),
        set: |zone, value| {
            number(value, &TrafficSettings::SECONDS).map(|most| zone.traffic.proxy_read_timeout = most)
        },
        expected: "1 to 6000 seconds, or null for what `upstream.read_timeout` says",
        is_editable: true,
    },
    Setting {
        id: "security_level",
        show: |zone| json!(zone.traffic.security_level.unwrap_or(SecurityLevel::EssentiallyOff)),
        set: |zone, value| {
            SecurityLevel::parse(value.as_str()?).map(|level| zone.traffic.security_level = Some(level))
        },
        expected: "`essentially_off` or `under_attack`: addresses have no reputation here",
        is_editable: true,
    },
    Setting {
        id: "ssl",
        show: |zone| json!(zone.traffic.ssl),
        set: |zone, value| {
            let mode = match value {
                Value::Null => None,
                value => Some(OriginEncryption::parse(value.as_str()?)?),
            };
            zone.traffic.ssl = mode;
            Some(())
        },
        expected: "`flexible`, `strict` or `origin_pull`, because certificates of origins are always verified, or null for what \
                   `dns.origin_scheme` says",
        is_editable: true,
    },
    on_off!("true_client_ip_header", traffic.true_client_ip_header, false),
    on_off!("websockets", traffic.websockets, true),
];
