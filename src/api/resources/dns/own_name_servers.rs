//! Name servers of a zone that have names below it.

use dns::{Name, RecordType};
use model::dns_settings::{NameServerSet, ZoneDnsSettings};
use model::{HostName, Resources, Zone, ZoneRecords};

use crate::api::error::{self, ApiError, ApiErrors};

/// Most names.
const MAX_NAMES: usize = 13;

/// Reads the names that are to be the name servers of a zone: below it, each with an address among its records, because
/// resolvers ask there for nothing before they know one.
///
/// # Errors
/// For each name that cannot be one, with its place.
pub(in crate::api::resources) fn checked(
    names: &[String],
    zone: &Zone,
    resources: &Resources,
) -> Result<Vec<String>, ApiErrors> {
    let mut errors = Vec::new();
    let mut checked: Vec<String> = Vec::new();
    if names.len() > MAX_NAMES {
        let message = format!("a zone has at most {MAX_NAMES} name servers");
        errors.push(ApiError::at(error::ZONE_PROPERTY, "/vanity_name_servers", message));
    }
    for (nth, text) in names.iter().enumerate().take(MAX_NAMES) {
        match name_below(text, zone, resources) {
            Ok(name) if checked.contains(&name) => {}
            Ok(name) => checked.push(name),
            Err(message) => {
                let place = format!("/vanity_name_servers/{nth}");
                errors.push(ApiError::at(error::ZONE_PROPERTY, place, message));
            }
        }
    }
    ApiErrors::of(errors).map_or(Ok(checked), Err)
}

fn name_below(text: &str, zone: &Zone, resources: &Resources) -> Result<String, String> {
    let host = HostName::parse_international(text)?;
    if !host.as_str().ends_with(&format!(".{}", zone.name)) {
        return Err(format!("`{host}` is not below `{}`", zone.name));
    }
    match resources.records.get(&zone.id).is_some_and(|records| has_address(records, host.as_str())) {
        true => Ok(host.to_string()),
        false => Err(format!("`{host}` has no A or AAAA record that is not proxied; make one first")),
    }
}

fn has_address(records: &ZoneRecords, name: &str) -> bool {
    let Ok(name) = Name::parse(name, None) else { return false };
    let is_address = |kind| matches!(kind, RecordType::A | RecordType::Aaaa);
    records.at(&name).any(|record| !record.proxied && is_address(record.rdata.record_type()))
}

/// Refuses to leave a name server of a zone without an address.
///
/// # Errors
/// If one would have none among these records.
pub(super) fn keep_addresses(zone: &Zone, records: &ZoneRecords) -> Result<(), ApiErrors> {
    if zone.dns.nameservers.r#type != NameServerSet::OF_ZONE {
        return Ok(());
    }
    match zone.dns.vanity_name_servers.iter().find(|name| !has_address(records, name)) {
        None => Ok(()),
        Some(name) => {
            let message = format!(
                "`{name}` is a name server of the zone, and needs an A or AAAA record that is not proxied; change the zone's \
                 `vanity_name_servers` first"
            );
            Err(ApiError::new(error::CONFLICT, message).into())
        }
    }
}

/// Settings of a zone whose name servers are these; those of its set if there are none.
pub(in crate::api::resources) fn with_names(settings: &ZoneDnsSettings, names: &[String]) -> ZoneDnsSettings {
    let mut settings = settings.clone();
    let was_own = settings.nameservers.r#type == NameServerSet::OF_ZONE;
    if !names.is_empty() {
        NameServerSet::OF_ZONE.clone_into(&mut settings.nameservers.r#type);
    } else if was_own {
        settings.nameservers.r#type = NameServerSet::default().r#type;
    }
    names.clone_into(&mut settings.vanity_name_servers);
    settings
}
