//! Requests that a CA elsewhere signs, by keys that never leave this server (RFC 2986).

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::certificate_pack::KeptKey;
use crate::word::serde_by_word;
use crate::{AccountId, ZoneId};

/// The id of a [`SigningRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SigningRequestId(pub Uuid);

impl fmt::Display for SigningRequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A request with its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigningRequest {
    pub id: SigningRequestId,
    pub account: AccountId,
    /// `None` if it is of the account, for each of its zones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<ZoneId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub subject: SigningSubject,
    /// The names that the certificate is to be for, in lower case.
    pub hosts: Vec<String>,
    pub key_type: SigningKeyType,
    /// PEM.
    pub text: String,
    pub key: KeptKey,
    /// RFC 3339.
    pub created_on: String,
}

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigningSubject {
    pub common_name: String,
    /// Two letters (ISO 3166-1).
    pub country: String,
    pub state: String,
    pub locality: String,
    pub organization: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organizational_unit: Option<String>,
}

/// The kind of the key of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SigningKeyType {
    Rsa2048,
    P256,
}

serde_by_word!(SigningKeyType, "type of a key");

impl SigningKeyType {
    pub const ALL: [Self; 2] = [Self::Rsa2048, Self::P256];

    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rsa2048 => "rsa2048",
            Self::P256 => "p256v1",
        }
    }
}
