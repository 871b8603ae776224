//! Operations that end: after their end, and those that end without ever having been served here.

use deprecations::{DeprecationKind, DeprecationRow};
use model::{DeprecationMode, Phase, RulesetOwner, RulesetSlot};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::rows::{CallRows, RowUse};
use super::telling;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{ApiCall, Verb, find_zone};
use crate::api::router::PREFIX;

/// What is escaped in paths: everything but what names and ids have.
const IN_PATHS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'/');

/// The row that is about the operation itself.
fn of_operation(rows: &CallRows) -> Option<(usize, &DeprecationRow, DeprecationMode)> {
    rows.iter().find(|(_, row, _)| row.what == DeprecationKind::Route)
}

/// The path of what takes the place of the operation of a call, if it ends.
pub(in crate::api) fn successor(rows: &CallRows, call: &ApiCall) -> Option<String> {
    let (_, row, _) = of_operation(rows)?;
    row.successors.iter().find_map(|template| filled(template, call))
}

/// A template of a path with the parameters of a call; `None` if one of them is unknown.
fn filled(template: &str, call: &ApiCall) -> Option<String> {
    let mut path = String::new();
    for part in template.split('/').skip(1) {
        path.push('/');
        let Some(name) = part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) else {
            path.push_str(part);
            continue;
        };
        let value = match name.strip_prefix("entry_point:") {
            Some(phase) => entry_point(phase, call)?,
            None => call.parameter(name.trim_start_matches('*')).to_owned(),
        };
        if value.is_empty() {
            return None;
        }
        // It was decoded, and may not begin a query or another header.
        path.extend(utf8_percent_encode(&value, IN_PATHS));
    }
    Some(path)
}

/// The id of the entry point that the zone of a call has for a phase.
fn entry_point(phase: &str, call: &ApiCall) -> Option<String> {
    let phase = Phase::parse(phase)?;
    let zone = find_zone(&call.snapshot.resources, call.parameter("zone_id"))?;
    let owner = RulesetOwner::Zone(zone.id.clone());
    let found = call.snapshot.resources.rulesets.get(&(owner, RulesetSlot::from(phase)));
    found.map(|ruleset| ruleset.id.clone())
}

/// Notes the use of an operation that ends, and refuses it after its end.
///
/// # Errors
/// If it has ended.
pub(in crate::api) fn check(rows: &CallRows, call: &ApiCall, verb: Verb) -> Result<(), ApiErrors> {
    let Some((place, row, mode)) = of_operation(rows) else { return Ok(()) };
    if mode == DeprecationMode::Gone {
        return Err(ApiError::new(error::NO_ROUTE, "No route for that URI").into());
    }
    rows.note(RowUse { row: place, mode, pointer: None });
    if mode.is_served() {
        return Ok(());
    }
    let said = telling::sentence(rows, row, &format!("`{}`", call.label(verb)));
    let message = match successor(rows, call) {
        Some(path) => format!("{said}: {PREFIX}{path}"),
        None => said,
    };
    let documentation = Some(telling::documentation(row));
    Err(ApiError { documentation, ..ApiError::new(error::ENDED, message) }.into())
}

/// What is said of an operation that ends, and is no part of this server before.
pub(in crate::api) fn not_here(rows: &CallRows, path: &str) -> ApiErrors {
    let replacement = of_operation(rows).map_or("nothing", |(_, row, _)| row.replacement.as_str());
    let message = format!("`{PREFIX}{path:.200}` is no part of this server, and ends; use {replacement}");
    ApiError::new(error::NOT_HERE, message).into()
}
