//! `execute`: runs a managed ruleset under overrides.

use std::sync::Arc;

use super::{CompiledAction, Definition, Sources};
use crate::ruleset::plans::ScoredRuleset;
use crate::ruleset::{ManagedRuleset, overrides};
use detection::ScanPlan;
use detection::plan::Settings;
use diagnostic::{Code, Diagnostic};
use model::ruleset::{ActionParameters, Rule};
use model::{Action, Phase, SensitiveDataSettings};

pub const DEFINITION: Definition = Definition {
    actions: &[Action::Execute],
    phases: &[Phase::HttpRequestFirewallManaged, Phase::HttpResponseFirewallManaged],
    compile,
};

/// A managed ruleset, by what it does.
#[derive(Clone, Debug)]
pub enum Execute {
    /// Scores requests.
    Score(ScoredRuleset),
    /// Scans copies of responses.
    Scan(ScanPlan),
}

fn compile(rule: &Rule, phase: Phase, sources: &mut Sources<'_>) -> Option<CompiledAction> {
    let mut refuse = |code, message| sources.diagnostics.push(Diagnostic::error(code, message));
    let Some(ActionParameters::Execute(parameters)) = &rule.action_parameters else {
        let message = "the action `execute` needs `action_parameters` with the id of a managed ruleset";
        refuse(Code::RulesetBadAction, message.to_owned());
        return None;
    };
    let is_meant = |m: &&ManagedRuleset| m.id.as_str() == parameters.id && m.phase == phase;
    let Some(managed) = sources.managed.into_iter().find(is_meant) else {
        let message = format!("phase `{}` has no managed ruleset `{}`", phase.word(), parameters.id);
        refuse(Code::RulesetUnknownRuleset, message);
        return None;
    };
    if !matches!(parameters.version.as_str(), "latest" | ManagedRuleset::VERSION) {
        let message = format!(
            "{} has no version `{}`; expected `latest` or `{}`",
            managed.name,
            parameters.version,
            ManagedRuleset::VERSION
        );
        refuse(Code::RulesetUnknownVersion, message);
    }
    let overrides = parameters.overrides.clone().unwrap_or_default();
    let effective = overrides::apply(managed, &overrides, sources.diagnostics);
    Some(CompiledAction::Execute(match phase.is_of_response() {
        false => Execute::Score(sources.plans.scored_ruleset(sources.program, managed, &effective)),
        true => {
            let detector = Arc::clone(sources.detector);
            let enabled =
                detector.rules().iter().map(|rule| !effective.disabled.contains(&rule.id)).collect();
            Execute::Scan(ScanPlan { detector, enabled, settings: settings(sources.sensitive_data) })
        }
    }))
}

fn settings(of_zone: &SensitiveDataSettings) -> Settings {
    Settings { payload_key: of_zone.payload_key, sample_every: of_zone.sample_every }
}

impl Execute {
    pub(super) fn with_settings(&self, of_zone: &SensitiveDataSettings) -> Self {
        match self {
            Self::Score(scored) => Self::Score(scored.clone()),
            Self::Scan(plan) => Self::Scan(ScanPlan { settings: settings(of_zone), ..plan.clone() }),
        }
    }

    /// Whether it runs the managed ruleset of this id.
    pub fn runs(&self, id: &str) -> bool {
        match self {
            Self::Score(scored) => scored.id.as_str() == id,
            Self::Scan(_) => ManagedRuleset::sensitive_data_id().as_str() == id,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        match self {
            Self::Score(scored) => scored.plan.rules() == 0,
            Self::Scan(plan) => !plan.enabled.contains(&true),
        }
    }

    pub fn scan_plan(&self) -> Option<&ScanPlan> {
        match self {
            Self::Score(_) => None,
            Self::Scan(plan) => Some(plan),
        }
    }
}
