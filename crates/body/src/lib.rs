//! Bounded readers of bodies: bytes in, names and values out.
//!
//! Readers are pure and never allocate more than their input. What they cannot read is a
//! [`BodyError`], never silence: a body that is not what it says it is must not pass unseen.

pub mod base64;
pub mod charset;
pub mod compress;
pub mod decompress;
pub mod grpc;
pub mod guess;
pub mod head;
pub mod json;
pub mod multipart;
pub mod protobuf;
pub mod urlencoded;
pub mod xml;
mod xml_name;
pub mod xml_path;
mod xml_predicate;
pub mod xml_search;

use std::fmt;

/// Why a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyError {
    Malformed(&'static str),
    /// More than the limit of this many.
    TooMany {
        what: &'static str,
        limit: usize,
    },
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(reason) => f.write_str(reason),
            Self::TooMany { what, limit } => write!(f, "more than {limit} {what}"),
        }
    }
}

/// The media type of a `Content-Type` value: before the first `;`, `,` or white space.
pub fn media_type(content_type: &[u8]) -> &[u8] {
    let content_type = content_type.trim_ascii_start();
    let is_end = |byte: &u8| matches!(byte, b';' | b',') || byte.is_ascii_whitespace();
    let end = content_type.iter().position(is_end).unwrap_or(content_type.len());
    content_type.get(..end).unwrap_or(content_type)
}

/// Whether a body of this type is a text that applications read whole; also if no type is given.
pub fn is_text(media_type: &[u8]) -> bool {
    const OTHERS: [&[u8]; 5] = [
        b"application/graphql",
        b"application/javascript",
        b"application/x-ndjson",
        b"application/x-yaml",
        b"application/yaml",
    ];
    media_type.is_empty()
        || media_type.get(..5).is_some_and(|kind| kind.eq_ignore_ascii_case(b"text/"))
        || OTHERS.iter().any(|other| media_type.eq_ignore_ascii_case(other))
}

/// Whether a media type is JSON: `application/json`, `text/json` or any `+json` (RFC 6839).
pub fn is_json(media_type: &[u8]) -> bool {
    let suffix = media_type.get(media_type.len().saturating_sub(5)..).unwrap_or(&[]);
    media_type.eq_ignore_ascii_case(b"application/json")
        || media_type.eq_ignore_ascii_case(b"text/json")
        || suffix.eq_ignore_ascii_case(b"+json")
}

/// Whether a media type is of several parts. Servers read forms from others than `multipart/form-data`.
pub fn is_multipart(media_type: &[u8]) -> bool {
    media_type.get(..10).is_some_and(|start| start.eq_ignore_ascii_case(b"multipart/"))
}

/// Whether a media type is that of server-sent events (WHATWG HTML, section "Server-sent events").
pub fn is_event_stream(media_type: &[u8]) -> bool {
    media_type.eq_ignore_ascii_case(b"text/event-stream")
}

/// Whether a media type is gRPC's, with any suffix.
pub fn is_grpc(media_type: &[u8]) -> bool {
    media_type.get(..16).is_some_and(|start| start.eq_ignore_ascii_case(b"application/grpc"))
}

/// Whether a media type is XML: `text/xml`, `application/xml` or any `+xml` (RFC 7303).
pub fn is_xml(media_type: &[u8]) -> bool {
    let suffix = media_type.get(media_type.len().saturating_sub(4)..).unwrap_or(&[]);
    media_type.eq_ignore_ascii_case(b"application/xml")
        || media_type.eq_ignore_ascii_case(b"text/xml")
        || suffix.eq_ignore_ascii_case(b"+xml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_lose_their_parameters() {
        for value in [&b" Application/JSON ;charset=x"[..], b"Application/JSON x", b"Application/JSON,a/b"] {
            assert_eq!(media_type(value), b"Application/JSON");
        }
        assert!(is_json(b"application/vnd.api+JSON"));
        assert!(!is_json(b"json"));
    }
}
