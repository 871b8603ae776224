//! `js_challenge`, `managed_challenge` and `challenge`: have a browser solve a puzzle before the request goes on.

use ::challenge::ChallengeLevel;

use super::{CompiledAction, Definition, Sources};
use diagnostic::{Code, Diagnostic};
use model::ruleset::Rule;
use model::{Action, Phase};

pub const DEFINITION: Definition = Definition {
    actions: &[Action::JsChallenge, Action::ManagedChallenge, Action::Challenge],
    phases: &[Phase::HttpRequestFirewallCustom, Phase::HttpRatelimit],
    compile,
};

fn compile(rule: &Rule, _: Phase, sources: &mut Sources<'_>) -> Option<CompiledAction> {
    if rule.action_parameters.as_ref().is_some_and(|parameters| !parameters.is_empty()) {
        let message = format!("the action `{}` takes no `action_parameters`", rule.action.word());
        sources.diagnostics.push(Diagnostic::error(Code::RulesetBadParameters, message));
        return None;
    }
    level(rule.action).map(CompiledAction::Challenge)
}

/// The level of an action, if it is a challenge.
pub fn level(action: Action) -> Option<ChallengeLevel> {
    match action {
        Action::JsChallenge => Some(ChallengeLevel::JavaScript),
        Action::ManagedChallenge => Some(ChallengeLevel::Managed),
        Action::Challenge => Some(ChallengeLevel::Interactive),
        Action::Block
        | Action::Log
        | Action::Execute
        | Action::Skip
        | Action::Redirect
        | Action::Rewrite
        | Action::Route
        | Action::ServeError
        | Action::SetConfig
        | Action::CompressResponse
        | Action::SetCacheSettings
        | Action::Score => None,
    }
}

/// The action of a level.
pub fn action(level: ChallengeLevel) -> Action {
    match level {
        ChallengeLevel::JavaScript => Action::JsChallenge,
        ChallengeLevel::Managed => Action::ManagedChallenge,
        ChallengeLevel::Interactive => Action::Challenge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_has_its_action() {
        assert!(ChallengeLevel::ALL.into_iter().all(|of| level(action(of)) == Some(of)));
        assert_eq!(Action::ALL.into_iter().filter_map(level).count(), ChallengeLevel::ALL.len());
    }
}
