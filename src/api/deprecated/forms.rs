//! Old forms in a request, found before its operation runs: each is noted, and refused or dropped after its end. What
//! is still served stays in the request, and the operation reads it.

use deprecations::{AtEnd, DeprecationKind, DeprecationRow};
use model::DeprecationMode;
use serde_json::Value;

use super::rows::{CallRows, RowUse};
use super::telling;
use crate::api::error::{self, ApiError, ApiErrors};

/// Looks through the query.
///
/// # Errors
/// If it has a form that ended.
pub(in crate::api) fn check_query(rows: &CallRows, query: &[(String, String)]) -> Result<(), ApiErrors> {
    let mut errors = Vec::new();
    for (place, row, mode) in rows.iter() {
        for (name, value) in query.iter().filter(|(name, value)| is_old_query(row, name, value)) {
            if mode == DeprecationMode::Gone {
                continue;
            }
            rows.note(RowUse { row: place, mode, pointer: None });
            if mode == DeprecationMode::Enforce && row.at_end == AtEnd::Refuse {
                let form = format!("`{name}={value:.60}`");
                errors.push(ApiError::new(error::BAD_QUERY, telling::sentence(rows, row, &form)));
            }
        }
    }
    ApiErrors::of(errors).map_or(Ok(()), Err)
}

/// Whether a parameter of a query has the form that a row is about.
pub(super) fn is_old_query(row: &DeprecationRow, name: &str, value: &str) -> bool {
    let DeprecationKind::QueryForm { parameters, prefixes, separator } = &row.what else { return false };
    let is_prefixed = || prefixes.iter().any(|prefix| value.starts_with(prefix));
    let is_list = || separator.as_deref().is_some_and(|separator| is_list(name, value, separator));
    parameters.iter().any(|known| known == name) && (is_prefixed() || is_list())
}

/// Whether a value is several. Contents of records have commas of their own, so there it is several addresses.
pub(in crate::api) fn is_list(name: &str, value: &str, separator: &str) -> bool {
    let mut parts = value.split(separator);
    let is_address = |part: &str| part.trim().parse::<std::net::IpAddr>().is_ok();
    value.contains(separator) && (name != "content" || parts.all(is_address))
}

/// Looks through the body. Returns the pointers of fields that are dropped as if they were unknown.
///
/// # Errors
/// If it has a field or a value that ended.
pub(in crate::api) fn check_body(rows: &CallRows, body: &mut Value) -> Result<Vec<String>, ApiErrors> {
    let (mut errors, mut unknown) = (Vec::new(), Vec::new());
    for (place, row, mode) in rows.iter() {
        let (patterns, values): (&[String], Option<&[String]>) = match &row.what {
            DeprecationKind::RequestField(pointers) => (pointers, None),
            DeprecationKind::Value { pointers, values } => (pointers, Some(values)),
            _ => continue,
        };
        let mut found: Vec<String> = Vec::new();
        patterns.iter().for_each(|pattern| find(body, pattern, values, &mut found));
        for pointer in found {
            match mode {
                DeprecationMode::Legacy | DeprecationMode::Warn => {
                    rows.note(RowUse { row: place, mode, pointer: Some(pointer) });
                }
                DeprecationMode::Enforce => {
                    let is_ignored = row.at_end == AtEnd::Ignore || stands_beside(row, body);
                    if is_ignored {
                        remove(body, &pointer);
                    } else {
                        let message = telling::sentence(rows, row, &format!("`{pointer}`"));
                        let documentation = Some(telling::documentation(row));
                        errors.push(ApiError {
                            documentation,
                            ..ApiError::at(error::BAD_FIELD, pointer.clone(), message)
                        });
                    }
                    rows.note(RowUse { row: place, mode, pointer: Some(pointer) });
                }
                // A value that is gone is one that the operation does not know.
                DeprecationMode::Gone if values.is_some() => {}
                DeprecationMode::Gone => {
                    remove(body, &pointer);
                    unknown.push(pointer);
                }
            }
        }
    }
    ApiErrors::of(errors).map_or(Ok(unknown), Err)
}

fn stands_beside(row: &DeprecationRow, body: &Value) -> bool {
    let beside = row.beside.as_deref().and_then(|pointer| body.pointer(pointer));
    beside.is_some_and(|beside| !beside.is_null())
}

/// Collects the pointers in `body` that a pattern means, where they hold one of `values`. A field that is `null` is absent.
fn find(body: &Value, pattern: &str, values: Option<&[String]>, found: &mut Vec<String>) {
    let mut reached = vec![(String::new(), body)];
    for part in pattern.split('/').skip(1) {
        reached = reached
            .into_iter()
            .flat_map(|(pointer, value)| {
                let entries: Vec<(String, &Value)> = match (part, value) {
                    ("*", Value::Array(list)) => {
                        list.iter().enumerate().map(|(nth, entry)| (nth.to_string(), entry)).collect()
                    }
                    (name, Value::Object(object)) => {
                        object.get(name).map(|entry| (name.to_owned(), entry)).into_iter().collect()
                    }
                    _ => Vec::new(),
                };
                entries.into_iter().map(move |(name, entry)| (format!("{pointer}/{name}"), entry))
            })
            .collect();
    }
    let is_meant = |value: &Value| match values {
        None => !value.is_null(),
        Some(values) => value.as_str().is_some_and(|text| values.iter().any(|known| known == text)),
    };
    found.extend(reached.into_iter().filter(|(_, value)| is_meant(value)).map(|(pointer, _)| pointer));
}

fn remove(body: &mut Value, pointer: &str) {
    let Some((parent, name)) = pointer.rsplit_once('/') else { return };
    if let Some(object) = body.pointer_mut(parent).and_then(Value::as_object_mut) {
        object.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_found_in_every_entry_and_removed() {
        let mut body =
            json!({"posts": [{"data": {"old": 1}}, {"data": {}}, {"data": {"old": null}}], "kind": "off"});
        let mut found = Vec::new();
        find(&body, "/posts/*/data/old", None, &mut found);
        find(&body, "/none/*/old", None, &mut found);
        find(&body, "/kind", Some(&["off".to_owned()]), &mut found);
        find(&body, "/kind", Some(&["on".to_owned()]), &mut found);
        assert_eq!(found, ["/posts/0/data/old", "/kind"]);
        found.iter().for_each(|pointer| remove(&mut body, pointer));
        assert_eq!(body, json!({"posts": [{"data": {}}, {"data": {}}, {"data": {"old": null}}]}));
    }

    #[test]
    fn lists_are_told_from_contents_with_commas() {
        assert!(is_list("name", "a.example,b.example", ","));
        assert!(is_list("content", "192.0.2.1,2001:db8::1", ","));
        assert!(!is_list("content", "0 issue \"ca.example; a=1,b\"", ","));
        assert!(!is_list("name", "a.example", ","));
    }
}
