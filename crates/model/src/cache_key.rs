//! What the key of a cached response is made of, in the fields of the management API.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What of a request makes the key of its response, besides what always does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheKeyParameters {
    /// Whether a target is the same in whatever order its parameters stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_query_strings_order: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_key: Option<CustomKey>,
    /// Whether each kind of device has its own response. If so, the request to the origin names the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_by_device_type: Option<bool>,
    /// Whether only responses are kept whose media type is one that the extension of the path allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_deception_armor: Option<bool>,
}

/// Parts of a request that a key has, or leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomKey {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_string: Option<QueryKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookie: Option<CookieKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostKey>,
}

/// Which parameters of a target count: those of one of both, or all but those of the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryKey {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include: Option<QueryNames>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude: Option<QueryNames>,
}

/// All parameters, or those of some names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryNames {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<String>,
}

/// Which fields count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderKey {
    /// Their values do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Only that they are there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check_presence: Vec<String>,
    /// Their values, if they hold one of these texts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub contains: BTreeMap<String, Vec<String>>,
    /// Whether `Origin` is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude_origin: Option<bool>,
}

/// Which cookies count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CookieKey {
    /// Their values do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Only that they are there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check_presence: Vec<String>,
}

/// What of a client counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserKey {
    /// Its kind of device, as with [`CacheKeyParameters::cache_by_device_type`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_type: Option<bool>,
    /// Its country.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geo: Option<bool>,
    /// The language it names first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lang: Option<bool>,
}

/// Which host counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostKey {
    /// Refused if it is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<bool>,
}
