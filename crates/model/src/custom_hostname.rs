//! Custom hostnames: names of a customer's customers, served through a zone.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::certificate_pack::PackId;
use crate::{HostnameId, ZoneId};

/// A custom hostname as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CustomHostname {
    pub id: HostnameId,
    pub zone: ZoneId,
    /// In lower case, without a final dot.
    pub hostname: Box<str>,
    /// Whether names below it are served too.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_wildcard: bool,
    pub status: HostnameStatus,
    /// Since when it has this status, in seconds since the epoch.
    pub since: u64,
    /// Attempts to verify it since it last became pending.
    #[serde(default, skip_serializing_if = "is_default")]
    pub attempts: u32,
    /// When it is looked at next, in seconds since the epoch.
    pub next_check: u64,
    /// Whether it has led to its zone since it last became pending.
    #[serde(default, skip_serializing_if = "is_default")]
    pub has_pointed_here: bool,
    /// Why it is not verified.
    #[serde(default, skip_serializing_if = "is_default")]
    pub verification_errors: Box<[Box<str>]>,
    /// What its owner shows to prove that the name is theirs.
    pub ownership_token: Uuid,
    /// Where its requests go in place of the fallback origin.
    #[serde(default, skip_serializing_if = "is_default")]
    pub origin: Option<Box<HostnameOrigin>>,
    /// What rules can read of it: a JSON object as text.
    #[serde(default, skip_serializing_if = "is_default")]
    pub metadata: Option<Arc<str>>,
    /// Its certificates.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pack: Option<PackId>,
    /// RFC 3339.
    pub created_on: Arc<str>,
}

/// An origin of a custom hostname's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostnameOrigin {
    /// A name with proxied records in the zone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub server: Option<Box<str>>,
    /// The name that TLS asks the origin for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sni: Option<OriginServerName>,
}

/// The name that TLS asks the origin of a custom hostname for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OriginServerName {
    /// The host of the request.
    RequestHost,
    Name(Box<str>),
}

impl OriginServerName {
    /// How clients write [`OriginServerName::RequestHost`].
    pub const REQUEST_HOST: &'static str = ":request_host_header:";
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// How far a custom hostname is (notes, "Custom hostname": those that this server gives).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostnameStatus {
    Pending,
    Active,
    /// It is served, and what was changed of it is not looked at yet.
    ActiveRedeploying,
    /// It was active and leads elsewhere, or was never verified in time.
    Moved,
    /// Somebody else holds the zone above it.
    Blocked,
}

impl HostnameStatus {
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::Active, Self::ActiveRedeploying, Self::Moved, Self::Blocked];

    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Active => "active",
            Self::ActiveRedeploying => "active_redeploying",
            Self::Moved => "moved",
            Self::Blocked => "blocked",
        }
    }

    /// Whether requests of the name are served.
    pub fn is_served(self) -> bool {
        matches!(self, Self::Active | Self::ActiveRedeploying)
    }
}

/// Where requests of custom hostnames go that name no origin of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FallbackOrigin {
    /// A name with proxied records in the zone.
    pub origin: String,
    /// RFC 3339, as the other.
    pub created_at: String,
    pub updated_at: String,
}
