//! Managed rulesets made ready to score requests, shared by the zones that set the same.

use std::collections::HashMap;
use std::sync::Arc;

use super::actions::challenge;
use super::managed::ManagedRuleset;
use super::overrides::{self, Effective};
use super::score;
use ::challenge::ChallengeLevel;
use diagnostic::Diagnostics;
use model::{Action, RulesetId};
use seclang::{Plan, PlanSettings, Program};

/// A managed ruleset under overrides, ready to score requests.
#[derive(Clone, Debug)]
pub struct ScoredRuleset {
    pub id: RulesetId,
    pub plan: Arc<Plan>,
    /// The rule that carries the threshold, for events; 0 if it does not run.
    pub threshold_rule: u64,
    /// The challenge that this rule answers with, if it does not refuse.
    pub challenge: Option<ChallengeLevel>,
    /// From which score on it acts.
    pub threshold: i64,
    /// Whether it only reports.
    pub only_reports: bool,
}

impl ScoredRuleset {
    /// A managed ruleset, whose rules `program` holds, under its effective settings.
    pub fn new(program: &Arc<Program>, managed: &ManagedRuleset, effective: &Effective) -> Self {
        Plans::default().scored_ruleset(program, managed, effective)
    }

    /// Such a ruleset with a paranoia level and a threshold alone.
    pub fn short_form(
        program: &Arc<Program>,
        managed: &ManagedRuleset,
        paranoia_level: u8,
        score_threshold: i64,
    ) -> Self {
        let settings = overrides::short_form(managed, paranoia_level, score_threshold);
        Self::new(program, managed, &overrides::apply(managed, &settings, &mut Diagnostics::default()))
    }
}

/// Plans by what they are made of: zones with the same settings share one.
#[derive(Debug, Default)]
pub struct Plans(HashMap<PlanSettings, (Arc<Program>, Arc<Plan>)>);

impl Plans {
    /// As [`ScoredRuleset::new`], with a plan that was made before if there is one.
    pub fn scored_ruleset(
        &mut self,
        program: &Arc<Program>,
        managed: &ManagedRuleset,
        effective: &Effective,
    ) -> ScoredRuleset {
        let settings = score::plan_settings(managed, effective);
        let known = self.0.get(&settings).filter(|(of, _)| Arc::ptr_eq(of, program));
        let plan = match known {
            Some((_, plan)) => Arc::clone(plan),
            None => {
                let plan = Arc::new(Plan::new(Arc::clone(program), &settings));
                self.0.insert(settings, (Arc::clone(program), Arc::clone(&plan)));
                plan
            }
        };
        let threshold_rule = managed.threshold_rule().filter(|_| effective.action.is_some());
        let threshold_rule = threshold_rule.and_then(|rule| rule.reference.parse().ok()).unwrap_or(0);
        let challenge = effective.action.and_then(challenge::level);
        let (threshold, only_reports) = (effective.score_threshold, effective.action == Some(Action::Log));
        ScoredRuleset { id: managed.id.clone(), plan, threshold_rule, challenge, threshold, only_reports }
    }
}
