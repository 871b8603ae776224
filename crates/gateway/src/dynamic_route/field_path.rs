//! What elements ask of a call: an entry of its metadata, a field of its head, a member of its body, its token.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName};
use serde_json::Value;

use crate::metadata::Metadata;

/// Where a value stands: `metadata.KEY`, `headers.NAME`, `body.MEMBER.MEMBER…` or `token`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldPath {
    Metadata(String),
    Header(HeaderName),
    /// Names of members, and numbers of elements of lists.
    Body(Vec<String>),
    /// The id of the gateway's token that the call came with.
    Token,
}

/// What a call says.
#[derive(Clone, Copy, Debug)]
pub struct RouteFacts<'f> {
    pub metadata: &'f Metadata,
    pub headers: &'f HeaderMap,
    pub body: &'f Value,
    pub token: Option<&'f str>,
}

impl FieldPath {
    /// `None` if a text names nothing of a call.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "token" {
            return Some(Self::Token);
        }
        let (kind, name) = text.split_once('.')?;
        match kind {
            _ if name.is_empty() => None,
            "metadata" => Some(Self::Metadata(name.to_owned())),
            "headers" => HeaderName::try_from(name).ok().map(Self::Header),
            "body" => {
                let parts: Vec<String> = name.split('.').map(str::to_owned).collect();
                parts.iter().all(|part| !part.is_empty()).then_some(Self::Body(parts))
            }
            _ => None,
        }
    }

    /// The value of a call; `None` if it has none.
    pub fn value<'f>(&self, facts: &RouteFacts<'f>) -> Option<Cow<'f, Value>> {
        match self {
            Self::Metadata(key) => facts.metadata.entries.get(key).map(Cow::Borrowed),
            Self::Header(name) => {
                let mut values = facts.headers.get_all(name).iter();
                // Of several, nobody knows which one a provider takes.
                let value = values.next().filter(|_| values.next().is_none())?;
                Some(Cow::Owned(String::from_utf8_lossy(value.as_bytes()).into()))
            }
            Self::Body(parts) => {
                let member = |value: &'f Value, part: &String| match value {
                    Value::Object(object) => object.get(part),
                    Value::Array(list) => list.get(part.parse::<usize>().ok()?),
                    _ => None,
                };
                parts.iter().try_fold(facts.body, member).map(Cow::Borrowed)
            }
            Self::Token => facts.token.map(|token| Cow::Owned(token.into())),
        }
    }

    pub(super) fn is_of_body(&self) -> bool {
        matches!(self, Self::Body(_))
    }

    pub(super) fn is_of_head(&self) -> bool {
        matches!(self, Self::Header(_))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_found_where_paths_say() {
        let mut headers = HeaderMap::new();
        headers.insert("x-plan", HeaderValue::from_static("paid"));
        headers.append("x-twice", HeaderValue::from_static("a"));
        headers.append("x-twice", HeaderValue::from_static("b"));
        let metadata = Metadata::parse(r#"{"plan":"free","a.b":2}"#);
        let body = json!({"messages": [{"role": "user"}], "max_tokens": 5});
        let facts = RouteFacts { metadata: &metadata, headers: &headers, body: &body, token: Some("t1") };
        let rows = [
            ("metadata.plan", json!("free")),
            ("metadata.a.b", json!(2)),
            ("headers.X-Plan", json!("paid")),
            ("headers.x-twice", Value::Null),
            ("headers.x-none", Value::Null),
            ("body.messages.0.role", json!("user")),
            ("body.messages.1.role", Value::Null),
            ("body.max_tokens", json!(5)),
            ("body.max_tokens.x", Value::Null),
            ("token", json!("t1")),
        ];
        for (path, expected) in rows {
            let found = FieldPath::parse(path).unwrap().value(&facts);
            assert_eq!(found.map_or(Value::Null, Cow::into_owned), expected, "{path}");
        }
        for none in ["", "metadata", "metadata.", "headers.a b", "body.a..b", "ip.src", "tokens"] {
            assert_eq!(FieldPath::parse(none), None, "{none}");
        }
    }
}
