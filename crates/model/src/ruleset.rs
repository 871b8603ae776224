//! Rulesets and rules, in the fields and words of the management API.

use serde::{Deserialize, Serialize};

/// A ruleset: `kind` is `managed` for a list of rules we ship or load, `zone` for a zone's entry
/// point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ruleset {
    #[serde(default)]
    pub id: String,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    #[serde(default = "zone_kind")]
    pub kind: String,
    #[serde(default = "first_version")]
    pub version: String,
    pub phase: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_updated: String,
    #[serde(default)]
    pub rules: Vec<Rule>,
}

/// One rule of a ruleset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    #[serde(default)]
    pub id: String,
    #[serde(default = "first_version")]
    pub version: String,
    pub action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_parameters: Option<ActionParameters>,
    #[serde(default = "everything")]
    pub expression: String,
    #[serde(default)]
    pub description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_threshold: Option<i64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub r#ref: String,
    #[serde(default = "enabled")]
    pub enabled: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_updated: String,
}

/// What an `execute` rule runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionParameters {
    /// The managed ruleset's id.
    pub id: String,
    #[serde(default = "latest")]
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overrides: Option<Overrides>,
}

/// Changes to a managed ruleset. A rule's override wins over a category's, the last listed
/// category over earlier ones, and any of them over the ruleset's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overrides {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<CategoryOverride>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleOverride>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CategoryOverride {
    /// A tag of the ruleset's rules, such as `paranoia-level-2`.
    pub category: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleOverride {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_threshold: Option<i64>,
}

fn zone_kind() -> String {
    "zone".to_owned()
}

fn first_version() -> String {
    "1".to_owned()
}

fn latest() -> String {
    "latest".to_owned()
}

fn everything() -> String {
    "true".to_owned()
}

fn enabled() -> bool {
    true
}
