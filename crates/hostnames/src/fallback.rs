//! Where requests of custom hostnames go: names with proxied records in the zone.

use dns::Name;
use model::{Zone, ZoneRecords};

use crate::verification::FallbackState;

/// Whether a zone can serve requests at a name: it has a proxied record, or the zone has no records and origins.
pub fn can_serve(zone: &Zone, records: Option<&ZoneRecords>, origin: &str) -> bool {
    match records.filter(|records| !records.is_empty()) {
        Some(records) => Name::parse(origin, None).is_ok_and(|name| {
            let found = records.standing_for(&name);
            found.iter().any(|record| record.proxied && record.rdata.record_type().is_proxiable())
        }),
        None => !zone.origins.is_empty(),
    }
}

/// Whether a name is the zone's own, or below it.
pub fn is_in_zone(zone: &Zone, name: &str) -> bool {
    name.strip_suffix(zone.name.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Where the fallback origin of a zone is.
pub fn state(zone: &Zone, records: Option<&ZoneRecords>) -> FallbackState {
    match &zone.fallback_origin {
        None => FallbackState::Missing,
        Some(fallback) if can_serve(zone, records, &fallback.origin) => FallbackState::Active,
        Some(_) => FallbackState::WithoutRecord,
    }
}
