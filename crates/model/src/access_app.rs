//! Access applications: what people put before an identity provider. They are kept and shown; the edge itself asks nobody
//! who they are.

use serde::{Deserialize, Serialize};

use crate::word::serde_by_word;
use crate::{AccountId, ZoneId};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessApp {
    /// A UUID.
    pub id: String,
    pub account: AccountId,
    /// `None` if it is of the account itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<ZoneId>,
    pub name: String,
    pub destinations: Vec<AccessDestination>,
    /// RFC 3339.
    pub created_at: String,
    pub updated_at: String,
}

/// Where an application is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessDestination {
    pub r#type: DestinationKind,
    /// A host, with a path or without.
    pub uri: String,
}

/// Who reaches a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DestinationKind {
    /// Everybody on the Internet.
    Public,
    Private,
}

serde_by_word!(DestinationKind, "type of a destination");

impl DestinationKind {
    pub const ALL: [Self; 2] = [Self::Public, Self::Private];

    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}
