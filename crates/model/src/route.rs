//! What the action `route` does, in the fields of the management API.

use serde::{Deserialize, Serialize};

/// Which origin a request goes to, and what that is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteParameters {
    /// The field `Host` that the origin gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_header: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<RouteOrigin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sni: Option<RouteSni>,
}

/// What takes the place of host and port of the zone's origins.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteOrigin {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

/// The name that TLS asks the origin for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteSni {
    pub value: String,
}
