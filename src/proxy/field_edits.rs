//! Header fields that rules change.

use http::HeaderName;
use pingora::http::{RequestHeader, ResponseHeader};

use super::headers::hyphenated;
use crate::ruleset::FieldEdit;

/// Does what rules changed of the header fields of a request. What is set or removed is so under all names that servers
/// read as one, or a client could send its own beside it.
pub(super) fn edit_request(request: &mut RequestHeader, edits: &[FieldEdit]) -> pingora::Result<()> {
    for FieldEdit { name, keeps, value } in edits {
        if !keeps {
            let plain = hyphenated(name.as_str());
            let is_twin = |known: &&HeaderName| hyphenated(known.as_str()) == plain;
            let twins: Vec<HeaderName> = request.headers.keys().filter(is_twin).cloned().collect();
            for twin in &twins {
                request.remove_header(twin);
            }
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
