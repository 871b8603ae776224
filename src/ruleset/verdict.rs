//! Why a request was judged as it was.

use super::actions::challenge;
use super::entry_point::RuleSource;
use super::managed::ManagedRuleset;
use ::challenge::ChallengeLevel;
use expression::AnomalyScore;
use model::{Action, RuleId, RulesetId};
use seclang::Match;

/// What the rules of a request decided.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    pub outcome: Outcome,
    /// The anomaly score of all levels together, and its parts.
    pub score: AnomalyScore,
    /// Rules that matched, in order.
    pub matches: Vec<Match>,
    /// Where a refusal leads the client.
    pub location: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing reached a threshold.
    #[default]
    Pass,
    /// A threshold was reached, and the action is `log`.
    Logged { rule: RuleReference },
    /// A rule refused the request.
    Blocked { rule: RuleReference, status: u16 },
    /// A rule has the client solve a puzzle first.
    Challenged { rule: RuleReference, level: ChallengeLevel },
}

/// A rule, as the API and events name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleReference {
    pub ruleset: RulesetId,
    pub id: RuleId,
    /// The rule's name in its source, such as the SecLang id of a managed rule.
    pub reference: String,
}

impl RuleReference {
    /// A SecLang rule of a managed ruleset.
    pub fn of_managed(ruleset: RulesetId, rule: u64) -> Self {
        Self { ruleset, id: ManagedRuleset::rule_id(rule), reference: rule.to_string() }
    }

    /// A rule that people wrote.
    pub fn of_entry_point(source: &RuleSource) -> Self {
        Self {
            ruleset: RulesetId::new(source.ruleset.as_str()),
            id: RuleId::new(source.id.as_str()),
            reference: source.reference.clone(),
        }
    }

    /// Whether this is the rule that `m` is a match of.
    pub fn is_of(&self, m: &Match) -> bool {
        self.reference.parse() == Ok(m.rule)
    }
}

impl Outcome {
    /// The action taken, as events name it.
    pub fn action(&self) -> Option<Action> {
        match self {
            Self::Pass => None,
            Self::Logged { .. } => Some(Action::Log),
            Self::Blocked { .. } => Some(Action::Block),
            Self::Challenged { level, .. } => Some(challenge::action(*level)),
        }
    }

    /// The rule that decided.
    pub fn rule(&self) -> Option<&RuleReference> {
        match self {
            Self::Pass => None,
            Self::Logged { rule } | Self::Blocked { rule, .. } | Self::Challenged { rule, .. } => Some(rule),
        }
    }
}
