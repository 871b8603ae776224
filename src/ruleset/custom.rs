//! Rulesets that entry points run by `execute`, besides managed ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::rule_list::RuleList;
use model::Phase;

/// Those that a zone can run, by their ids.
pub type CustomRulesets = BTreeMap<String, CustomRuleset>;

/// A ruleset of the kind `custom`, compiled.
#[derive(Clone, Debug)]
pub struct CustomRuleset {
    pub id: Arc<str>,
    pub version: Arc<str>,
    pub phase: Phase,
    /// The ids of all its rules, with those that are not enabled.
    pub rules: Arc<[String]>,
    pub list: Arc<RuleList>,
}
