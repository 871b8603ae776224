//! The compiled rules of a zone, by phase.

use std::borrow::Cow;

use super::actions::{CompiledAction, Execute};
use super::plans::ScoredRuleset;
use detection::ScanPlan;
use expression::{Expression, Facts};
use model::{Phase, RuleId};

/// The entry points of a zone, one for each phase that has rules.
#[derive(Clone, Debug, Default)]
pub struct EntryPoints([Option<EntryPoint>; Phase::ALL.len()]);

impl EntryPoints {
    /// The entry point of a phase; `None` if nothing runs there.
    pub fn of(&self, phase: Phase) -> Option<&EntryPoint> {
        self.0.get(phase as usize)?.as_ref()
    }

    /// Adds a rule behind those that its phase has.
    pub fn push(&mut self, phase: Phase, rule: CompiledRule) {
        if rule.action.is_idle() {
            return;
        }
        if let Some(entry_point) = self.0.get_mut(phase as usize) {
            entry_point.get_or_insert_default().rules.push(rule);
        }
    }
}

/// The rules of one phase, in order.
#[derive(Clone, Debug, Default)]
pub struct EntryPoint {
    pub rules: Vec<CompiledRule>,
}

/// One rule of an entry point.
#[derive(Clone, Debug)]
pub struct CompiledRule {
    pub id: RuleId,
    /// The requests or responses that the rule is for.
    pub expression: Expression,
    pub action: CompiledAction,
}

impl EntryPoint {
    /// An entry point that scores every request by one managed ruleset.
    pub fn scoring(scored: ScoredRuleset) -> Self {
        let action = CompiledAction::Execute(Execute::Score(scored));
        let id = RuleId::derived("zone rule", "scores every request");
        Self { rules: vec![CompiledRule { id, expression: Expression::everything(), action }] }
    }

    /// The rules that are for a request or its response, in order.
    pub fn matching<'a>(&'a self, facts: &'a Facts<'_>) -> impl Iterator<Item = &'a CompiledRule> {
        self.rules.iter().filter(|rule| rule.expression.matches(facts))
    }

    /// What a response is scanned for by the rules that are for it; `None` if there are none. `facts` are asked
    /// for only if a rule has an expression.
    pub fn scan_plan<'a>(
        &'a self,
        facts: impl FnOnce(&mut dyn FnMut(&Facts<'_>)),
    ) -> Option<Cow<'a, ScanPlan>> {
        if let [CompiledRule { action: CompiledAction::Execute(Execute::Scan(plan)), expression, .. }] =
            self.rules.as_slice()
            && expression.is_everything()
        {
            return Some(Cow::Borrowed(plan));
        }
        let mut joined = None;
        facts(&mut |facts| {
            let plans = self.matching(facts).filter_map(|rule| rule.action.scan_plan());
            joined = ScanPlan::joined(plans).map(Cow::Owned);
        });
        joined
    }
}
