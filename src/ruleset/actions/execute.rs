//! `execute`: runs a managed ruleset under overrides, or a ruleset of the kind `custom`.

use std::sync::Arc;

use super::{CompiledAction, Definition, Sources};
use crate::ruleset::plans::ScoredRuleset;
use crate::ruleset::{CustomRuleset, ManagedRuleset, RuleList, overrides};
use detection::ScanPlan;
use detection::plan::Settings;
use diagnostic::{Code, Diagnostic};
use model::ruleset::{ActionParameters, ExecuteParameters, Rule};
use model::{Action, Phase, SensitiveDataSettings};

pub const DEFINITION: Definition = Definition { actions: &[Action::Execute], phases: &Phase::ALL, compile };

/// A ruleset, by what it does.
#[derive(Clone, Debug)]
pub enum Execute {
    /// Scores requests.
    Score(ScoredRuleset),
    /// Scans copies of responses.
    Scan(ScanPlan),
    /// Takes requests past rules that people wrote.
    Custom(CustomRuleset),
}

fn compile(rule: &Rule, phase: Phase, sources: &mut Sources<'_>) -> Option<CompiledAction> {
    let mut refuse = |code, message| sources.diagnostics.push(Diagnostic::error(code, message));
    let Some(ActionParameters::Execute(parameters)) = &rule.action_parameters else {
        let message = "the action `execute` needs `action_parameters` with the id of a ruleset";
        refuse(Code::RulesetBadAction, message.to_owned());
        return None;
    };
    let is_meant = |m: &&ManagedRuleset| m.id.as_str() == parameters.id && m.phase == phase;
    let Some(managed) = sources.managed.into_iter().find(is_meant) else {
        return custom(parameters, phase, sources);
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

/// What runs a ruleset of the kind `custom`.
fn custom(parameters: &ExecuteParameters, phase: Phase, sources: &mut Sources<'_>) -> Option<CompiledAction> {
    let ExecuteParameters { id, version, overrides } = parameters;
    let found = match sources.custom {
        None => Err((
            Code::RulesetUnknownRuleset,
            "a ruleset of the kind `custom` cannot run others; let the entry point run them".to_owned(),
        )),
        Some(custom) => match custom.get(id) {
            None => {
                let message = format!("phase `{}` has no ruleset `{id}` that can be run", phase.word());
                Err((Code::RulesetUnknownRuleset, message))
            }
            Some(custom) if custom.phase != phase => {
                let (is, here) = (custom.phase.word(), phase.word());
                let message =
                    format!("the ruleset `{id}` is for phase `{is}`; it cannot run in phase `{here}`");
                Err((Code::RulesetUnknownRuleset, message))
            }
            Some(custom) if version != "latest" && *version != *custom.version => {
                let message = format!(
                    "only the latest version of the ruleset `{id}` can be run, which is `{}`; found `{version}`",
                    custom.version
                );
                Err((Code::RulesetUnknownVersion, message))
            }
            Some(_) if overrides.is_some() => {
                let message = "`overrides` are for managed rulesets; change the rules of this one instead";
                Err((Code::RulesetBadOverride, message.to_owned()))
            }
            Some(custom) => Ok(custom.clone()),
        },
    };
    match found {
        Ok(custom) => Some(CompiledAction::Execute(Execute::Custom(custom))),
        Err((code, message)) => {
            sources.diagnostics.push(Diagnostic::error(code, message));
            None
        }
    }
}

fn settings(of_zone: &SensitiveDataSettings) -> Settings {
    Settings { payload_key: of_zone.payload_key, sample_every: of_zone.sample_every }
}

impl Execute {
    pub(super) fn with_settings(&self, of_zone: &SensitiveDataSettings) -> Self {
        match self {
            Self::Score(scored) => Self::Score(scored.clone()),
            Self::Scan(plan) => Self::Scan(ScanPlan { settings: settings(of_zone), ..plan.clone() }),
            Self::Custom(custom) if custom.phase.is_of_response() => {
                let rules = custom.list.rules().iter().map(|rule| rule.with_settings(of_zone));
                let list = Arc::new(RuleList::new(rules.collect()));
                Self::Custom(CustomRuleset { list, ..custom.clone() })
            }
            Self::Custom(custom) => Self::Custom(custom.clone()),
        }
    }

    /// Whether it runs the managed ruleset of this id.
    pub fn runs(&self, id: &str) -> bool {
        match self {
            Self::Score(scored) => scored.id.as_str() == id,
            Self::Scan(_) => ManagedRuleset::sensitive_data_id().as_str() == id,
            Self::Custom(custom) => *custom.id == *id,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        match self {
            Self::Score(scored) => scored.plan.rules() == 0,
            Self::Scan(plan) => !plan.enabled.contains(&true),
            Self::Custom(custom) => custom.list.rules().is_empty(),
        }
    }

    pub fn scan_plan(&self) -> Option<&ScanPlan> {
        match self {
            Self::Score(_) | Self::Custom(_) => None,
            Self::Scan(plan) => Some(plan),
        }
    }
}
