//! Rulesets and rules, in the fields and words of the management API.

use serde::{Deserialize, Serialize};

pub use crate::action_parameters::{
    ActionParameters, BlockParameters, BlockResponse, ErrorPage, ExecuteParameters, ScoreParameters,
    SkipParameters,
};
pub use crate::overrides::{CategoryOverride, Overrides, RuleOverride};

use crate::rate_limit::RateLimit;
use crate::word::serde_by_word;
use crate::{AccountId, Action, Phase, RuleId, RulesetId, ZoneId};

/// Whose rules a ruleset holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RulesetKind {
    /// Rules that run where an entry point has a rule that executes them.
    Custom,
    /// Rules that ship with the program or are loaded from files.
    Managed,
    /// The entry point of an account.
    Root,
    /// The entry point of a zone.
    #[default]
    Zone,
}

serde_by_word!(RulesetKind, "kind of ruleset");

impl RulesetKind {
    pub const ALL: [Self; 4] = [Self::Custom, Self::Managed, Self::Root, Self::Zone];

    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Custom => "custom",
            Self::Managed => "managed",
            Self::Root => "root",
            Self::Zone => "zone",
        }
    }
}

/// Whose rulesets: entry points of an account run before those of its zones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RulesetOwner {
    Account(AccountId),
    Zone(ZoneId),
}

impl RulesetOwner {
    /// The kind of its entry points.
    pub fn kind(&self) -> RulesetKind {
        match self {
            Self::Account(_) => RulesetKind::Root,
            Self::Zone(_) => RulesetKind::Zone,
        }
    }
}

/// Where an owner has a ruleset. Entry points come before others, in the order of phases.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RulesetSlot {
    /// What runs in a phase. There is one at most.
    EntryPoint(Phase),
    /// One of the kind `custom`, by its id.
    Custom { custom: String },
}

impl From<Phase> for RulesetSlot {
    fn from(phase: Phase) -> Self {
        Self::EntryPoint(phase)
    }
}

/// A list of rules of one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    #[serde(default)]
    pub kind: RulesetKind,
    #[serde(default = "first_version")]
    pub version: String,
    pub phase: Phase,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_updated: String,
    #[serde(default)]
    pub rules: Vec<Rule>,
}

impl Ruleset {
    /// A ruleset without id, name or rules, in its first version.
    pub fn new(kind: RulesetKind, phase: Phase) -> Self {
        Self {
            id: String::new(),
            name: String::new(),
            description: String::new(),
            source: String::new(),
            kind,
            version: first_version(),
            phase,
            last_updated: String::new(),
            rules: Vec::new(),
        }
    }

    /// Where its owner has it.
    pub fn slot(&self) -> RulesetSlot {
        match self.kind {
            RulesetKind::Custom => RulesetSlot::Custom { custom: self.id.clone() },
            RulesetKind::Managed | RulesetKind::Root | RulesetKind::Zone => self.phase.into(),
        }
    }

    /// Gives a ruleset its kind, and it and its rules what they lack: a name, when they were changed, and ids that are
    /// the same on every start. `key` is unique among the rulesets of this kind.
    pub fn complete(&mut self, kind: RulesetKind, key: &str, modified: &str) {
        self.kind = kind;
        let kind = kind.word();
        if self.id.is_empty() {
            self.id = RulesetId::derived(&format!("{kind} ruleset"), key).to_string();
        }
        if self.last_updated.is_empty() {
            modified.clone_into(&mut self.last_updated);
        }
        if self.name.is_empty() {
            "default".clone_into(&mut self.name);
        }
        for (index, rule) in self.rules.iter_mut().enumerate() {
            if rule.last_updated.is_empty() {
                rule.last_updated.clone_from(&self.last_updated);
            }
            if rule.id.is_empty() {
                rule.id = RuleId::derived(&format!("{kind} rule"), &format!("{key}/{index}")).to_string();
            }
        }
    }
}

/// One rule of a ruleset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    #[serde(default)]
    pub id: String,
    #[serde(default = "first_version")]
    pub version: String,
    pub action: Action,
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
    /// What is counted, in the phase `http_ratelimit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratelimit: Option<RateLimit>,
    /// Whether a match of a `skip` rule makes an event. It does if this is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logging: Option<RuleLogging>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_updated: String,
}

/// Whether matches of a rule make events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleLogging {
    pub enabled: bool,
}

impl Rule {
    /// An enabled rule without id, for every request, in its first version.
    pub fn new(action: Action) -> Self {
        Self {
            id: String::new(),
            version: first_version(),
            action,
            action_parameters: None,
            expression: everything(),
            description: String::new(),
            score_threshold: None,
            r#ref: String::new(),
            enabled: true,
            categories: Vec::new(),
            ratelimit: None,
            logging: None,
            last_updated: String::new(),
        }
    }
}

fn first_version() -> String {
    "1".to_owned()
}

fn everything() -> String {
    "true".to_owned()
}

fn enabled() -> bool {
    true
}
