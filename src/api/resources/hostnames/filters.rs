//! Filters and order of lists of custom hostnames.

use std::sync::Arc;

use model::{CertificatePack, CustomHostname, Declared, Resources, ZoneId};

use super::shown::{pack_of, status};
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{ApiCall, Kind, PAGE, PER_PAGE, QueryParameter};

const fn text(name: &'static str, doc: &'static str) -> QueryParameter {
    QueryParameter { name, kind: Kind::Text, doc }
}

pub(super) const LIST: &[QueryParameter] = &[
    PAGE,
    PER_PAGE,
    text("id", "The identifier; no other filter goes with it."),
    text("hostname", "The whole name."),
    text("hostname.exact", "The whole name."),
    text("hostname.contain", "A part of the name."),
    text("hostname.startsWith", "The start of the name."),
    text("ssl", "`1` for those with a certificate pack, `0` for those without."),
    text("ssl_status", "How far the certificate is."),
    text("hostname_status", "How far the hostname is."),
    text("certificate_authority", "The CA that was asked for."),
    text("custom_origin_server", "The origin of its own."),
    QueryParameter { name: "wildcard", kind: Kind::Flag, doc: "Whether names below are served, too." },
    QueryParameter {
        name: "order",
        kind: Kind::Words(&["ssl", "ssl_status"]),
        doc: "By what the list is sorted; by when they were made if it is not given.",
    },
    QueryParameter { name: "direction", kind: Kind::Words(&["asc", "desc"]), doc: "Which end is first." },
];

/// Filters that compare the name, of which one is taken.
const BY_NAME: [&str; 4] = ["hostname", "hostname.exact", "hostname.contain", "hostname.startsWith"];

fn bad(name: &str, expected: &str, found: &str) -> ApiErrors {
    let message = format!("expected {expected} for `{name}`, found `{found:.60}`");
    ApiError::new(error::BAD_QUERY, message).into()
}

/// The custom hostnames of a zone that a call asks for, in its order.
///
/// # Errors
/// If a parameter has no such value, or two of them do not go together.
pub(super) fn found(
    call: &ApiCall,
    resources: &Resources,
    zone: &ZoneId,
) -> Result<Vec<Arc<Declared<CustomHostname>>>, ApiErrors> {
    check_together(call)?;
    let filters = filters(call)?;
    let mut found: Vec<_> = resources
        .hostnames
        .values()
        .filter(|hostname| hostname.zone == *zone)
        .filter(|hostname| {
            let pack = pack_of(resources, hostname);
            filters.iter().all(|filter| filter(hostname, pack))
        })
        .map(Arc::clone)
        .collect();
    let ssl_status = |hostname: &CustomHostname| pack_of(resources, hostname).map(|pack| pack.status.word());
    match call.asked("order") {
        None => found.sort_by(|one, other| (&one.created_on, one.id).cmp(&(&other.created_on, other.id))),
        Some("ssl") => found.sort_by_key(|hostname| (hostname.pack.is_some(), hostname.created_on.clone())),
        Some("ssl_status") => {
            found.sort_by_key(|hostname| (ssl_status(hostname), hostname.created_on.clone()))
        }
        Some(other) => return Err(bad("order", "`ssl` or `ssl_status`", other)),
    }
    match call.asked("direction") {
        None | Some("asc") => {}
        Some("desc") => found.reverse(),
        Some(other) => return Err(bad("direction", "`asc` or `desc`", other)),
    }
    Ok(found)
}

fn check_together(call: &ApiCall) -> Result<(), ApiErrors> {
    let asked = |name: &&QueryParameter| call.asked(name.name).is_some();
    let free = ["page", "per_page", "order", "direction"];
    let filters: Vec<&str> =
        LIST.iter().filter(asked).map(|known| known.name).filter(|name| !free.contains(name)).collect();
    if filters.contains(&"id") && filters.len() > 1 {
        let message = format!("`id` goes with no other filter, found `{}`", filters.join("`, `"));
        return Err(ApiError::new(error::ID_WITH_FILTERS, message).into());
    }
    let by_name: Vec<&str> = BY_NAME.into_iter().filter(|name| call.asked(name).is_some()).collect();
    if by_name.len() > 1 {
        let message = format!("give one filter of the name, found `{}`", by_name.join("`, `"));
        return Err(ApiError::new(error::BAD_NAME_FILTER, message).into());
    }
    Ok(())
}

type HostnameFilter = Box<dyn Fn(&CustomHostname, Option<&CertificatePack>) -> bool>;

fn filters(call: &ApiCall) -> Result<Vec<HostnameFilter>, ApiErrors> {
    let mut filters: Vec<HostnameFilter> = Vec::new();
    let lower = |name: &str| call.asked(name).map(|text| text.trim_end_matches('.').to_ascii_lowercase());
    if let Some(id) = lower("id") {
        if id.parse::<uuid::Uuid>().is_err() {
            let message = format!("expected an identifier for `id`, found `{id:.60}`");
            return Err(ApiError::new(error::BAD_HOSTNAME_ID, message).into());
        }
        filters.push(Box::new(move |hostname, _| hostname.id.to_string() == id));
    }
    if let Some(name) = lower("hostname").or_else(|| lower("hostname.exact")) {
        filters.push(Box::new(move |hostname, _| *hostname.hostname == *name));
    }
    if let Some(part) = lower("hostname.contain") {
        if !part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'*'))
        {
            let message = format!("expected a part of a name for `hostname.contain`, found `{part:.60}`");
            return Err(ApiError::new(error::BAD_NAME_FILTER, message).into());
        }
        filters.push(Box::new(move |hostname, _| hostname.hostname.contains(&part)));
    }
    if let Some(start) = lower("hostname.startsWith") {
        filters.push(Box::new(move |hostname, _| hostname.hostname.starts_with(&start)));
    }
    match call.asked("ssl") {
        None => {}
        Some("0" | "0.0" | "false") => filters.push(Box::new(|_, pack| pack.is_none())),
        Some("1" | "1.0" | "true") => filters.push(Box::new(|_, pack| pack.is_some())),
        Some(other) => return Err(bad("ssl", "`0` or `1`", other)),
    }
    if let Some(wanted) = lower("ssl_status") {
        filters.push(Box::new(move |_, pack| pack.is_some_and(|pack| pack.status.word() == wanted)));
    }
    if let Some(wanted) = lower("hostname_status") {
        filters.push(Box::new(move |hostname, pack| status(hostname, pack) == wanted));
    }
    if let Some(wanted) = lower("certificate_authority") {
        filters.push(Box::new(move |_, pack| {
            pack.is_some_and(|pack| pack.certificate_authority.as_deref() == Some(&*wanted))
        }));
    }
    if let Some(wanted) = lower("custom_origin_server") {
        filters.push(Box::new(move |hostname, _| {
            let server = hostname.origin.as_ref().and_then(|origin| origin.server.as_deref());
            server == Some(wanted.as_str())
        }));
    }
    match call.asked("wildcard") {
        None => {}
        Some("true") => filters.push(Box::new(|hostname, _| hostname.is_wildcard)),
        Some("false") => filters.push(Box::new(|hostname, _| !hostname.is_wildcard)),
        Some(other) => return Err(bad("wildcard", "`true` or `false`", other)),
    }
    Ok(filters)
}
