//! Named lists: values that expressions of an account's rules ask for by one name.

use serde::{Deserialize, Serialize};

use crate::AccountId;
use crate::word::serde_by_word;

/// A list of an account. Expressions name it as `$name`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedList {
    pub id: String,
    pub account: AccountId,
    pub name: String,
    #[serde(default)]
    pub description: String,
    pub kind: ListKind,
    /// In the order in which they were added.
    #[serde(default)]
    pub items: Vec<ListItem>,
    /// RFC 3339.
    pub created_on: String,
    pub modified_on: String,
}

/// What a list holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// Numbers of autonomous systems.
    Asn,
    /// Addresses and networks.
    Ip,
    /// Host names, or `*.` and a host name for all below it.
    Hostname,
}

serde_by_word!(ListKind, "kind");

/// A value of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListItem {
    pub id: String,
    /// In normal form.
    pub value: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comment: String,
    /// RFC 3339.
    pub created_on: String,
    pub modified_on: String,
}

impl NamedList {
    /// Most values of a list.
    pub const MAX_ITEMS: usize = 100_000;

    /// Whether a text can be the name of a list: 1 to 50 lower-case letters, digits and `_`.
    pub fn is_name(text: &str) -> bool {
        (1..=50).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    }
}

impl ListKind {
    pub const ALL: [Self; 3] = [Self::Ip, Self::Hostname, Self::Asn];

    /// The word of the API, which is also the field of an item that has its value.
    pub fn word(self) -> &'static str {
        match self {
            Self::Asn => "asn",
            Self::Ip => "ip",
            Self::Hostname => "hostname",
        }
    }
}
