//! Which zones a list shows.

use model::{HostName, Resources, Zone};

use super::accounts;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::ApiCall;

/// The types of zones: made here, or received from other name servers.
pub(super) const FULL: &str = "full";
pub(super) const SECONDARY: &str = "secondary";

pub(super) fn type_of(zone: &Zone) -> &'static str {
    if zone.incoming.is_some() { SECONDARY } else { FULL }
}

pub(super) type ZoneFilter = Box<dyn Fn(&Zone, &Resources) -> bool + Send>;

/// The conditions of a query.
///
/// # Errors
/// If a value is none that its parameter takes.
pub(super) fn filters(call: &ApiCall) -> Result<Vec<ZoneFilter>, ApiErrors> {
    let mut filters: Vec<ZoneFilter> = Vec::new();
    for (name, value) in call.query.iter().filter(|(_, value)| !value.is_empty()) {
        let value = value.clone();
        match name.as_str() {
            "name" => filters.push(by_name(&value)),
            "status" => filters.push(Box::new(move |_, _| value.eq_ignore_ascii_case("active"))),
            "type" => {
                filters.push(Box::new(move |zone, _| value.split(',').any(|kind| kind == type_of(zone))))
            }
            "account.id" => filters.push(Box::new(move |zone, _| zone.account.as_str() == value)),
            "account.name" => {
                filters.push(Box::new(move |zone, all| accounts::name(all, &zone.account) == value));
            }
            "direction" if !matches!(value.as_str(), "asc" | "desc") => {
                let message = format!("expected `asc` or `desc` for `direction`, found `{value}`");
                return Err(ApiError::new(error::BAD_QUERY, message).into());
            }
            "match" if !matches!(value.as_str(), "all" | "any") => {
                let message = format!("expected `all` or `any` for `match`, found `{value}`");
                return Err(ApiError::new(error::BAD_QUERY, message).into());
            }
            _ => {}
        }
    }
    Ok(filters)
}

fn by_name(value: &str) -> ZoneFilter {
    let (operator, text) = match value.split_once(':') {
        Some((operator, text)) => (operator.trim_end_matches("_case_sensitive"), text),
        None => ("equal", value),
    };
    let text = text.trim_end_matches('.');
    // A part of a name may be of letters beyond ASCII, and is then compared as names have them.
    let text = HostName::ascii(text).unwrap_or_else(|| text.to_lowercase());
    match operator {
        "not_equal" => Box::new(move |zone, _| zone.name != text),
        "starts_with" => Box::new(move |zone, _| zone.name.starts_with(&text)),
        "ends_with" => Box::new(move |zone, _| zone.name.ends_with(&text)),
        "contains" => Box::new(move |zone, _| zone.name.contains(&text)),
        _ => Box::new(move |zone, _| zone.name == text),
    }
}
