//! What the actions `redirect` and `rewrite` do, in the fields of the management API.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::word::serde_by_word;

/// A text, written or given by an expression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replacement {
    Value(String),
    Expression(String),
}

/// Where a `redirect` rule leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedirectParameters {
    pub from_value: RedirectTarget,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedirectTarget {
    pub target_url: Replacement,
    /// 301, 302, 303, 307 or 308.
    #[serde(default = "moved")]
    pub status_code: u16,
    #[serde(default)]
    pub preserve_query_string: bool,
}

fn moved() -> u16 {
    301
}

/// What a `rewrite` rule changes of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewriteParameters {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<UriReplacement>,
    /// By the names of header fields.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, HeaderEdit>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UriReplacement {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Replacement>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<Replacement>,
}

/// What becomes of a header field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderEdit {
    pub operation: HeaderOperation,
    /// Not with `remove`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// In place of `value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderOperation {
    /// In place of what there is.
    Set,
    /// Beside what there is.
    Add,
    Remove,
}

serde_by_word!(HeaderOperation, "operation");

impl HeaderOperation {
    pub const ALL: [Self; 3] = [Self::Set, Self::Add, Self::Remove];

    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Add => "add",
            Self::Remove => "remove",
        }
    }
}
