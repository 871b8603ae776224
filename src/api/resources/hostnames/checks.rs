//! Checks of names that go into custom hostnames.

use dns::Name;
use hostnames::{NameMistake, fallback};
use model::{HostName, Zone};

use crate::api::error::{self, ErrorCode};
use crate::snapshot::Snapshot;

pub(super) fn code_of(mistake: &NameMistake) -> &'static ErrorCode {
    match mistake {
        NameMistake::Invalid(_) | NameMistake::Wildcard => error::BAD_HOSTNAME,
        NameMistake::NotAscii => error::HOSTNAME_NOT_ASCII,
        NameMistake::Reserved => error::HOSTNAME_RESERVED,
        NameMistake::PublicSuffix => error::HOSTNAME_PUBLIC_SUFFIX,
        NameMistake::Documentation => error::HOSTNAME_PROHIBITED,
    }
}

/// A name of the zone that can be an origin.
///
/// # Errors
/// The code and one sentence: it is no name, or not one of the zone.
pub(super) fn origin_name(zone: &Zone, text: &str) -> Result<String, (&'static ErrorCode, String)> {
    if text.contains('*') {
        return Err((error::WILDCARD_ORIGIN, "an origin is a name without `*`".to_owned()));
    }
    if !text.is_ascii() {
        return Err((error::ORIGIN_NOT_ASCII, "write the name as `xn--…` (RFC 5890)".to_owned()));
    }
    let name = HostName::parse(text).map_err(|message| (error::BAD_ORIGIN_NAME, message))?.to_string();
    if name.parse::<std::net::IpAddr>().is_ok() {
        return Err((error::BAD_ORIGIN_NAME, format!("`{name}` is an address; expected a name of the zone")));
    }
    if !fallback::is_in_zone(zone, &name) {
        let message = format!("`{name}` is not in the zone `{}`; expected a name of it", zone.name);
        return Err((error::ORIGIN_WITHOUT_RECORD, message));
    }
    Ok(name)
}

/// The name of an origin of the zone.
///
/// # Errors
/// The code and one sentence: it is no name, or the zone has no A, AAAA or CNAME record of it.
pub(super) fn origin_server(
    snapshot: &Snapshot,
    zone: &Zone,
    text: &str,
) -> Result<String, (&'static ErrorCode, String)> {
    let name = origin_name(zone, text)?;
    let records = snapshot.resources.records.get(&zone.id).filter(|records| !records.is_empty());
    let has_record = match records {
        Some(records) => Name::parse(&name, None).is_ok_and(|name| {
            records.standing_for(&name).iter().any(|record| record.rdata.record_type().is_proxiable())
        }),
        // A zone without records serves all of its names by its origins.
        None => !zone.origins.is_empty(),
    };
    if has_record {
        return Ok(name);
    }
    let message = format!("the zone `{}` has no A, AAAA or CNAME record `{name}`; make one first", zone.name);
    Err((error::ORIGIN_WITHOUT_RECORD, message))
}
