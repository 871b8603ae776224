//! Header fields that rules and settings change.

use http::{HeaderName, HeaderValue};
use pingora::http::{RequestHeader, ResponseHeader};

use super::headers::hyphenated;
use crate::ruleset::FieldEdit;

/// Does what rules changed of the header fields of a request. What is set or removed is so under all names that servers
/// read as one, or a client could send its own beside it.
pub(super) fn edit_request(request: &mut RequestHeader, edits: &[FieldEdit]) -> pingora::Result<()> {
    for FieldEdit { name, keeps, value } in edits {
        if !keeps {
            remove_twins(request, name.as_str());
        }
        match value {
            Some(value) if *keeps => drop(request.append_header(name.clone(), value.clone())?),
            Some(value) => request.insert_header(name.clone(), value.clone())?,
            None => {}
        }
    }
    Ok(())
}

/// Does what rules changed of the header fields of a response.
pub(super) fn edit_response(response: &mut ResponseHeader, edits: &[FieldEdit]) -> pingora::Result<()> {
    for FieldEdit { name, keeps, value } in edits {
        match value {
            Some(value) if *keeps => drop(response.append_header(name.clone(), value.clone())?),
            Some(value) => response.insert_header(name.clone(), value.clone())?,
            None if *keeps => {}
            None => drop(response.remove_header(name)),
        }
    }
    Ok(())
}

/// Sets a field of a request under all names that servers read as one, so that a client cannot send its own beside it.
pub(super) fn tell(
    request: &mut RequestHeader,
    name: &'static str,
    value: HeaderValue,
) -> pingora::Result<()> {
    remove_twins(request, name);
    request.insert_header(name, value)
}

/// Removes a field under all names that servers read as one: many read `_` as `-`.
pub(super) fn remove_twins(request: &mut RequestHeader, name: &str) {
    let plain = hyphenated(name);
    let is_twin = |known: &&HeaderName| hyphenated(known.as_str()) == plain;
    let twins: Vec<HeaderName> = request.headers.keys().filter(is_twin).cloned().collect();
    for twin in &twins {
        request.remove_header(twin);
    }
}
