//! How clients are told: `Deprecation` (RFC 9745), `Sunset` (RFC 8594), `Link`, and messages beside the result.

use std::collections::BTreeSet;

use deprecations::{DeprecationKind, DeprecationRow};
use http::header::{HeaderMap, HeaderName, HeaderValue, LINK};
use model::DeprecationMode;

use super::rows::{API_VERSION, CallRows};
use crate::api::envelope::Item;
use crate::api::error::ENDED;
use crate::api::router::PREFIX;

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const SUNSET: HeaderName = HeaderName::from_static("sunset");

/// The path of a page about a row.
pub(super) fn documentation(row: &DeprecationRow) -> String {
    row.documentation.clone().unwrap_or_else(|| format!("{PREFIX}/deprecations/{}", row.id))
}

/// What is said of a row that something, such as a field, is used of.
pub(super) fn sentence(rows: &CallRows, row: &DeprecationRow, something: &str) -> String {
    let verb = if row.end() <= rows.today { "ended" } else { "ends" };
    format!("{something} {verb} on {}; use {}", row.end(), row.replacement)
}

/// A message for each use of a row that is still served, or ignored.
pub(in crate::api) fn messages(rows: &CallRows, operation: &str) -> Vec<Item> {
    let uses = rows.uses();
    let told = uses.iter().filter(|found| found.mode != DeprecationMode::Legacy);
    told.filter_map(|found| {
        let row = rows.row(found.row)?;
        let something = match (&found.pointer, &row.what) {
            (Some(pointer), _) => format!("`{pointer}`"),
            (None, DeprecationKind::QueryForm { parameters, .. }) => {
                format!("this form of `{}`", parameters.join("` or `"))
            }
            (None, _) => format!("`{operation}`"),
        };
        let item = Item::new(ENDED.code, sentence(rows, row, &something));
        Some(item.about(Some(documentation(row)), found.pointer.clone()))
    })
    .collect()
}

/// Says in the head of an answer what its request used, or what the answer has, that ends. `successor` is the path of what
/// takes the place of the operation itself.
pub(in crate::api) fn write_headers(rows: &CallRows, successor: Option<&str>, headers: &mut HeaderMap) {
    let uses = rows.uses();
    let used = uses.iter().filter(|found| found.mode != DeprecationMode::Legacy).map(|found| found.row);
    // DeprecationKind an answer has is told with every answer, because nobody can see whether it is read.
    let shown = rows.iter().filter_map(|(place, row, mode)| {
        let is_told = matches!(row.what, DeprecationKind::ResponseField(_)) && mode == DeprecationMode::Warn;
        (is_told && rows.shows(&row.id)).then_some(place)
    });
    let places: BTreeSet<usize> = used.chain(shown).collect();
    let told: Vec<&DeprecationRow> = places.into_iter().filter_map(|place| rows.row(place)).collect();
    let (Some(announced), Some(end)) =
        (told.iter().map(|row| row.announced).min(), told.iter().map(|row| row.end()).min())
    else {
        return;
    };
    let value = |text: String| HeaderValue::try_from(text).ok();
    if let Some(value) = value(format!("@{}", announced.unix())) {
        headers.insert(DEPRECATION, value);
    }
    if let Some(value) = value(end.http_date()) {
        headers.insert(SUNSET, value);
    }
    let links = told.iter().map(|row| format!("<{}>; rel=\"deprecation\"", documentation(row)));
    let successor = successor.map(|path| format!("<{PREFIX}{path}>; rel=\"successor-version\""));
    for link in links.chain(successor).filter_map(value) {
        headers.append(LINK, link);
    }
}

/// Repeats the day that was asked for.
pub(in crate::api) fn write_version(day: Option<model::CalendarDate>, headers: &mut HeaderMap) {
    if let Some(value) = day.and_then(|day| HeaderValue::try_from(day.to_string()).ok()) {
        headers.insert(API_VERSION, value);
    }
}
