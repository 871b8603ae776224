//! `score`: adds to what the managed rules make of a request, so that less of them reaches their threshold.

use super::{CompiledAction, Definition, Sources};
use diagnostic::{Code, Diagnostic};
use model::ruleset::{ActionParameters, Rule, ScoreParameters};
use model::{Action, Phase};

pub const DEFINITION: Definition =
    Definition { actions: &[Action::Score], phases: &[Phase::HttpRequestFirewallCustom], compile };

fn compile(rule: &Rule, _: Phase, sources: &mut Sources<'_>) -> Option<CompiledAction> {
    match rule.action_parameters {
        Some(ActionParameters::Score(ScoreParameters { increment })) if (1..=100).contains(&increment) => {
            Some(CompiledAction::Score(increment))
        }
        _ => {
            let message = "the action `score` needs an `increment` from 1 to 100 in `action_parameters`";
            let diagnostic = Diagnostic::error(Code::RulesetBadParameters, message);
            sources.diagnostics.push(diagnostic.pointing("action_parameters/increment".to_owned()));
            None
        }
    }
}
