//! `log`: makes an event, and the request goes on.

use super::{CompiledAction, Definition, Sources};
use diagnostic::{Code, Diagnostic};
use model::ruleset::Rule;
use model::{Action, Phase};

pub const DEFINITION: Definition = Definition {
    actions: &[Action::Log],
    phases: &[Phase::HttpRequestFirewallCustom, Phase::HttpRatelimit],
    compile,
};

fn compile(rule: &Rule, _: Phase, sources: &mut Sources<'_>) -> Option<CompiledAction> {
    if rule.action_parameters.as_ref().is_some_and(|parameters| !parameters.is_empty()) {
        let message = "the action `log` takes no `action_parameters`";
        sources.diagnostics.push(Diagnostic::error(Code::RulesetBadParameters, message));
        return None;
    }
    Some(CompiledAction::Log)
}
