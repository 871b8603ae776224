//! A security event as it is stored, in the field names of security event logs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Something that rules, the scanner or a limit found or refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecurityRecord {
    /// RFC 3339.
    #[serde(rename = "Datetime")]
    pub datetime: String,
    #[serde(rename = "RayID")]
    pub ray: String,
    #[serde(rename = "Action")]
    pub action: String,
    /// `firewallmanaged`, `dlp` or `edge`.
    #[serde(rename = "Source")]
    pub source: String,
    /// What people call the source: `Managed Rules`, `Data Loss Protection`, `Edge`.
    #[serde(rename = "Service")]
    pub service: String,
    #[serde(rename = "RulesetID")]
    pub ruleset: String,
    #[serde(rename = "RuleID")]
    pub rule: String,
    #[serde(rename = "Ref")]
    pub reference: String,
    #[serde(rename = "Description")]
    pub description: String,
    #[serde(rename = "ClientIP")]
    pub client: String,
    #[serde(rename = "ClientRequestMethod")]
    pub method: String,
    #[serde(rename = "ClientRequestHost")]
    pub host: String,
    #[serde(rename = "ClientRequestPath")]
    pub path: String,
    #[serde(rename = "ClientRequestUserAgent")]
    pub user_agent: String,
    #[serde(rename = "EdgeResponseStatus")]
    pub status: u16,
    pub zone: String,
    /// Empty if it belongs to no zone.
    #[serde(default)]
    pub zone_id: String,
    #[serde(default)]
    pub account_id: String,
    pub score: i64,
    /// What the expression of a rule saw of the request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// Rules that made up the score, the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contributions: Vec<Contribution>,
    /// How often this was found, if it is one finding that comes again.
    #[serde(default = "once")]
    pub count: u64,
}

/// One rule's part in a score. Names the variable, never its value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contribution {
    #[serde(rename = "RuleID", default)]
    pub rule: String,
    #[serde(rename = "Ref")]
    pub reference: String,
    #[serde(rename = "Description")]
    pub description: String,
    pub score: i64,
    pub variable: String,
}

fn once() -> u64 {
    1
}
