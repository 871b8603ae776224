//! Collectors that get a span of each call of a gateway.

use std::collections::BTreeMap;

use http::{HeaderName, HeaderValue, header};
use serde::{Deserialize, Serialize};

use super::Secret;

/// A collector that takes OTLP over HTTP, as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanCollector {
    /// `https://host[:port][/path][?query]`; without a path it is [`SpanCollector::USUAL_PATH`].
    pub url: String,
    /// Fields of each message, by name, as a file has them.
    #[serde(skip)]
    pub fields: BTreeMap<String, Secret>,
    /// The same as the API keeps them: each value is sealed by the vault of the crate `gateway`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sealed_fields: BTreeMap<String, String>,
    /// Whether it may be on this machine or in a private network, as a file says by naming it.
    #[serde(skip)]
    pub may_be_private: bool,
}

/// Names of fields that belong to the message.
const RESERVED: &[HeaderName] = &[
    header::HOST,
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::CONNECTION,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
    header::EXPECT,
];

impl SpanCollector {
    /// Most collectors of a gateway.
    pub const MAX: usize = 5;
    /// Most fields of a message.
    pub const MAX_FIELDS: usize = 16;
    /// Longest value of a field, in bytes.
    const MAX_VALUE_BYTES: usize = 4_096;
    /// Where collectors take spans (OTLP specification, "OTLP/HTTP request").
    pub const USUAL_PATH: &str = "/v1/traces";

    /// What is wrong with a field of messages, if anything; to follow its name.
    pub fn field_fault(name: &str, value: &str) -> Option<&'static str> {
        match HeaderName::try_from(name) {
            Err(_) => Some("is no name of a field: expected letters, digits and hyphens"),
            Ok(name) if RESERVED.contains(&name) => Some("is set by the edge: leave it out"),
            Ok(_) if value.len() > Self::MAX_VALUE_BYTES || HeaderValue::try_from(value).is_err() => Some(
                "has a value that no field may have: expected at most 4096 letters, digits, signs and spaces",
            ),
            Ok(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_frame_the_message_are_not_for_others_to_set() {
        let long = "x".repeat(4_097);
        for (name, value, is_sound) in [
            ("authorization", "Basic YTpi", true),
            ("X-Team", "", true),
            ("Host", "a.example", false),
            ("content-LENGTH", "1", false),
            ("transfer-encoding", "chunked", false),
            ("a b", "x", false),
            ("", "x", false),
            ("x", "a\r\nhost: b", false),
            ("x", &long, false),
        ] {
            assert_eq!(SpanCollector::field_fault(name, value).is_none(), is_sound, "{name}");
        }
    }
}
