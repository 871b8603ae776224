//! Managed rulesets: the account-level lists that overrides refer to.

use model::Phase;
use model::ruleset::{Rule, Ruleset, RulesetKind};
use model::{Action, RuleId, RulesetId};
use seclang::Program;

/// The threshold if nobody sets one: one critical match.
pub const DEFAULT_SCORE_THRESHOLD: i64 = 5;

/// A managed ruleset, as much of it as overrides and the API need.
#[derive(Clone, Debug)]
pub struct ManagedRuleset {
    pub id: RulesetId,
    pub name: &'static str,
    pub description: &'static str,
    pub phase: Phase,
    /// When its rules were last changed (RFC 3339).
    pub last_updated: String,
    /// In order; the last rule of a scoring ruleset carries threshold and action.
    pub rules: Vec<ManagedRule>,
}

#[derive(Clone, Debug)]
pub struct ManagedRule {
    pub id: RuleId,
    /// SecLang id, or the name of a sensitive data rule.
    pub reference: String,
    pub description: String,
    pub categories: Vec<String>,
    pub enabled: bool,
    pub score_threshold: Option<i64>,
}

impl ManagedRule {
    /// Whether a word is one of its categories, or what it is called.
    pub fn is_of(&self, word: &str) -> bool {
        self.reference == word || self.categories.iter().any(|category| category == word)
    }
}

impl ManagedRuleset {
    /// The one version that each has: those of other versions are not kept.
    pub const VERSION: &str = "1";

    /// The id under which the OWASP ruleset is deployed, the same everywhere.
    pub fn owasp_id() -> RulesetId {
        RulesetId::derived("managed ruleset", "owasp")
    }

    /// The id under which Sensitive Data Detection is deployed, the same everywhere.
    pub fn sensitive_data_id() -> RulesetId {
        RulesetId::derived("managed ruleset", "sensitive data detection")
    }

    /// The id of a SecLang rule, the same wherever it is loaded.
    pub fn rule_id(rule: u64) -> RuleId {
        RuleId::derived("owasp rule", &rule.to_string())
    }

    /// The ruleset of loaded SecLang rules: each one that can be switched, then the threshold rule.
    pub fn owasp(program: &Program, last_updated: String) -> Self {
        let mut rules: Vec<ManagedRule> = program
            .roots()
            .iter()
            .filter(|root| !root.meta.msg_text.is_empty() && !root.is_disruptive())
            .map(|root| managed(root, None))
            .collect();
        rules.extend(program.threshold_rule().map(|root| managed(root, Some(DEFAULT_SCORE_THRESHOLD))));
        Self {
            id: Self::owasp_id(),
            name: "OWASP Anomaly Rules",
            description: "Scores requests and acts when the sum reaches a threshold",
            phase: Phase::HttpRequestFirewallManaged,
            last_updated,
            rules,
        }
    }

    /// The rule that carries threshold and action.
    pub fn threshold_rule(&self) -> Option<&ManagedRule> {
        self.rules.last().filter(|rule| rule.score_threshold.is_some())
    }

    /// Whether a word is a category of its rules, or what one of them is called.
    pub fn has_rules_of(&self, word: &str) -> bool {
        self.rules.iter().any(|rule| rule.is_of(word))
    }

    /// As the API shows it.
    pub fn to_model(&self, with_rules: bool) -> Ruleset {
        let action = if self.phase.is_of_response() { Action::Log } else { Action::Block };
        let rules = self.rules.iter().map(|rule| Rule {
            id: rule.id.to_string(),
            description: rule.description.clone(),
            score_threshold: rule.score_threshold,
            r#ref: rule.reference.clone(),
            enabled: rule.enabled,
            categories: rule.categories.clone(),
            last_updated: self.last_updated.clone(),
            ..Rule::new(action)
        });
        Ruleset {
            id: self.id.to_string(),
            name: self.name.to_owned(),
            description: self.description.to_owned(),
            source: "firewall_managed".to_owned(),
            last_updated: self.last_updated.clone(),
            rules: if with_rules { rules.collect() } else { Vec::new() },
            ..Ruleset::new(RulesetKind::Managed, self.phase)
        }
    }
}

fn managed(root: &seclang::Root, score_threshold: Option<i64>) -> ManagedRule {
    let reference = root.id.to_string();
    ManagedRule {
        id: ManagedRuleset::rule_id(root.id),
        description: without_macros(&root.meta.msg_text),
        categories: root.meta.tags.iter().map(|tag| category(tag)).collect(),
        reference,
        enabled: true,
        score_threshold,
    }
}

/// A message as it is before any request: what a request fills in is left open.
fn without_macros(message: &str) -> String {
    let mut parts = message.split("%{");
    let mut text = parts.next().unwrap_or("").to_owned();
    for part in parts {
        text.push('…');
        text.push_str(part.split_once('}').map_or("", |(_, rest)| rest));
    }
    text
}

/// `paranoia-level/2`, as some rule sets write it, is the category `paranoia-level-2`.
fn category(tag: &str) -> String {
    match tag.strip_prefix("paranoia-level/") {
        Some(level) => format!("paranoia-level-{level}"),
        None => tag.to_owned(),
    }
}
