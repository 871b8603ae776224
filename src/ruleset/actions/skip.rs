//! `skip`: passes over the rest of a ruleset, over phases, or over other rulesets and rules of them.

use std::sync::Arc;

use super::{CompiledAction, Definition, Sources};
use crate::ruleset::ManagedRuleset;
use diagnostic::{Code, Diagnostic};
use model::ruleset::{ActionParameters, Rule, SkipParameters};
use model::{Action, Phase};

pub const DEFINITION: Definition = Definition { actions: &[Action::Skip], phases: &Phase::ALL, compile };

/// What is passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skip {
    /// The rules behind it in its own ruleset.
    pub rest: bool,
    pub phases: Vec<Phase>,
    /// Rulesets that are run, by id.
    pub rulesets: Vec<String>,
    /// Rules of managed rulesets, as their sources name them.
    pub rules: Vec<String>,
    /// Rules of rulesets of the kind `custom`, by ruleset and id.
    pub custom_rules: Vec<(String, String)>,
    /// Whether a match makes an event.
    pub is_told: bool,
}

fn compile(rule: &Rule, phase: Phase, sources: &mut Sources<'_>) -> Option<CompiledAction> {
    let mut found = Vec::new();
    let mut refuse = |code, message: String| found.push(Diagnostic::error(code, message));
    let parameters = match &rule.action_parameters {
        Some(ActionParameters::Skip(skip)) if *skip != SkipParameters::default() => skip.clone(),
        _ => {
            let message =
                "the action `skip` needs `action_parameters` with `ruleset`, `phases`, `rulesets` or `rules`";
            refuse(Code::RulesetBadParameters, message.to_owned());
            SkipParameters::default()
        }
    };
    if let Some(other) = parameters.ruleset.as_deref().filter(|ruleset| *ruleset != "current") {
        refuse(Code::RulesetBadParameters, format!("`ruleset` takes `current` alone, found `{other}`"));
    }
    if let Some(earlier) = parameters.phases.iter().find(|skipped| **skipped < phase) {
        let message = format!("phase `{}` is over when this rule runs", earlier.word());
        refuse(Code::RulesetBadParameters, message);
    }
    let managed = |id: &str| sources.managed.into_iter().find(|managed| managed.id.as_str() == id);
    let unknown = |id: &str| format!("there is no ruleset `{id}` that could be passed over");
    let custom = |id: &str| sources.custom.is_some_and(|custom| custom.contains_key(id));
    for id in parameters.rulesets.iter().filter(|id| managed(id).is_none() && !custom(id)) {
        refuse(Code::RulesetUnknownRuleset, unknown(id));
    }
    let (mut rules, mut custom_rules) = (Vec::new(), Vec::new());
    for (id, skipped) in &parameters.rules {
        if let Some(custom) = sources.custom.and_then(|custom| custom.get(id)) {
            match skipped.iter().find(|id| !custom.rules.contains(id)) {
                Some(unknown) => {
                    refuse(Code::RulesetUnknownRule, format!("the ruleset `{id}` has no rule `{unknown}`"));
                }
                None => custom_rules.extend(skipped.iter().map(|rule| (id.clone(), rule.clone()))),
            }
            continue;
        }
        let Some(ruleset) = managed(id) else {
            refuse(Code::RulesetUnknownRuleset, unknown(id));
            continue;
        };
        for id in skipped {
            match reference(ruleset, id) {
                Some(reference) => rules.push(reference),
                None => refuse(Code::RulesetUnknownRule, format!("{} has no rule `{id}`", ruleset.name)),
            }
        }
    }
    let is_valid = found.is_empty();
    found.into_iter().for_each(|diagnostic| sources.diagnostics.push(diagnostic));
    is_valid.then(|| {
        CompiledAction::Skip(Arc::new(Skip {
            rest: parameters.ruleset.is_some(),
            phases: parameters.phases,
            rulesets: parameters.rulesets,
            rules,
            custom_rules,
            is_told: rule.logging.is_none_or(|logging| logging.enabled),
        }))
    })
}

/// A rule as its source names it, by its id.
fn reference(ruleset: &ManagedRuleset, id: &str) -> Option<String> {
    let known = ruleset.rules.iter().find(|known| known.id.as_str() == id);
    known.map(|known| known.reference.clone())
}
