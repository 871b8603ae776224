//! Tokens of the management API: who may do what, where, until when and from where.

use serde::{Deserialize, Serialize};

use crate::{DeprecationSettings, TokenId};

/// A token of the management API. The token itself is shown once; only a hash is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiToken {
    pub id: TokenId,
    pub name: String,
    /// SHA-256 of the token, as hex.
    pub hash: String,
    #[serde(default)]
    pub is_disabled: bool,
    pub policies: Vec<Policy>,
    /// When it becomes valid, in seconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<u64>,
    /// When it stops being valid, in seconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_on: Option<u64>,
    /// Networks of clients that may use it (CIDR); all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<String>,
    /// Networks of clients that may not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_clients: Vec<String>,
    /// How its bearer has what ends.
    #[serde(default, skip_serializing_if = "DeprecationSettings::is_empty")]
    pub deprecations: DeprecationSettings,
    /// RFC 3339.
    pub issued_on: String,
    pub modified_on: String,
}

/// Permissions on resources, given or taken away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    pub id: String,
    /// Whether it takes the permissions away: what one policy denies no other allows.
    #[serde(default)]
    pub denies: bool,
    /// Ids of permission groups.
    pub permission_groups: Vec<String>,
    /// Names of resources, such as `com.svc.api.account.*`.
    pub resources: Vec<String>,
}
