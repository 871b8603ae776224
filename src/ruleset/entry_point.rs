//! The compiled rules of a zone, by phase.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::actions::{CompiledAction, Execute};
use super::decisions::{Decisions, Ending};
use super::plans::ScoredRuleset;
use super::rate_limiter::RateLimiter;
use super::rule_list::{RuleList, Walk};
use super::trace::Tracer;
use detection::ScanPlan;
use expression::{Expression, Facts};
use model::{Phase, Rule, Ruleset, RulesetKind, SensitiveDataSettings};

/// The entry points of a zone, one for each phase that has rules.
#[derive(Clone, Debug, Default)]
pub struct EntryPoints([Option<EntryPoint>; Phase::ALL.len()]);

impl EntryPoints {
    /// The entry point of a phase; `None` if nothing runs there.
    pub fn of(&self, phase: Phase) -> Option<&EntryPoint> {
        self.0.get(phase as usize)?.as_ref()
    }

    /// Whether a rule may answer with a challenge.
    pub fn challenges(&self) -> bool {
        self.0.iter().flatten().any(EntryPoint::challenges)
    }

    /// The block lists that managed rules ask whether they name the client.
    pub fn block_lists(&self) -> Vec<Arc<str>> {
        let rules = self.0.iter().flatten().flat_map(EntryPoint::all_rules);
        let lists: BTreeSet<_> = rules.flat_map(|rule| rule.action.block_lists()).collect();
        lists.into_iter().collect()
    }

    /// Adds rules behind those that their phase has.
    pub fn push(&mut self, phase: Phase, kind: RulesetKind, rules: Arc<RuleList>) {
        if rules.rules().is_empty() {
            return;
        }
        if let Some(entry_point) = self.0.get_mut(phase as usize) {
            entry_point.get_or_insert_default().push(kind, rules);
        }
    }
}

/// What runs in one phase: the rules of the account's entry point, then those of the zone's.
#[derive(Clone, Debug, Default)]
pub struct EntryPoint {
    parts: Vec<(RulesetKind, Arc<RuleList>)>,
}

/// One rule of an entry point.
#[derive(Clone, Debug)]
pub struct CompiledRule {
    pub source: Arc<RuleSource>,
    /// The requests or responses that the rule is for.
    pub expression: Expression,
    pub action: CompiledAction,
    /// It acts on requests past this rate only.
    pub rate: Option<Arc<RateLimiter>>,
}

/// What a compiled rule was, for events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSource {
    pub kind: RulesetKind,
    pub ruleset: String,
    pub id: String,
    pub reference: String,
    pub description: String,
}

impl RuleSource {
    pub fn new(ruleset: &Ruleset, rule: &Rule) -> Self {
        let reference = if rule.r#ref.is_empty() { &rule.id } else { &rule.r#ref };
        Self {
            kind: ruleset.kind,
            ruleset: ruleset.id.clone(),
            id: rule.id.clone(),
            reference: reference.clone(),
            description: rule.description.clone(),
        }
    }
}

impl CompiledRule {
    /// Whether the body of a request must be read before it is asked.
    pub fn reads_body(&self) -> bool {
        let runs = match &self.action {
            CompiledAction::Execute(Execute::Custom(custom)) => custom.list.reads_body(),
            _ => false,
        };
        runs || self.expression.reads_body() || self.rate.as_ref().is_some_and(|rate| rate.reads_body())
    }

    /// The same rule for a zone with other settings.
    pub fn with_settings(&self, settings: &SensitiveDataSettings) -> Self {
        Self { action: self.action.with_settings(settings), ..self.clone() }
    }
}

impl EntryPoint {
    /// An entry point that scores every request by one managed ruleset.
    pub fn scoring(scored: ScoredRuleset) -> Self {
        let action = CompiledAction::Execute(Execute::Score(scored));
        let (source, expression) = (Arc::default(), Expression::everything());
        let rules = RuleList::new(vec![CompiledRule { source, expression, action, rate: None }]);
        Self { parts: vec![(RulesetKind::Zone, Arc::new(rules))] }
    }

    /// Adds rules behind those that it has.
    pub fn push(&mut self, kind: RulesetKind, rules: Arc<RuleList>) {
        self.parts.push((kind, rules));
    }

    /// All rules, in order, with those of rulesets that it runs.
    pub fn all_rules(&self) -> impl Iterator<Item = &CompiledRule> {
        self.rules().flat_map(|rule| {
            let custom = match &rule.action {
                CompiledAction::Execute(Execute::Custom(custom)) => custom.list.rules(),
                _ => &[],
            };
            std::iter::once(rule).chain(custom)
        })
    }

    /// Its own rules, in order.
    fn rules(&self) -> impl Iterator<Item = &CompiledRule> {
        self.parts.iter().flat_map(|(_, list)| list.rules())
    }

    /// Walks the rules that are for a request or its response in order, up to one that ends the request. What `execute`
    /// rules run is handed on, with the kind of the entry point that they are of.
    pub fn walk<'e>(
        &'e self,
        phase: Phase,
        facts: &Facts<'_>,
        decisions: &mut Decisions,
        run: impl FnMut(&'e Execute, RulesetKind, &Decisions),
    ) -> Option<Ending> {
        self.walk_traced(phase, facts, decisions, None, run)
    }

    /// As `walk`; the tracer is told of each rule that is asked.
    pub(super) fn walk_traced<'e>(
        &'e self,
        phase: Phase,
        facts: &Facts<'_>,
        decisions: &mut Decisions,
        tracer: Option<&RefCell<Tracer>>,
        mut run: impl FnMut(&'e Execute, RulesetKind, &Decisions),
    ) -> Option<Ending> {
        self.parts.iter().find_map(|(kind, list)| {
            list.walk(Walk { phase, kind: *kind, facts, tracer }, decisions, &mut run)
        })
    }

    /// Whether the body of a request must be read before its rules are asked.
    pub fn reads_body(&self) -> bool {
        self.parts.iter().any(|(_, list)| list.reads_body())
    }

    /// Whether a rule of it may answer with a challenge.
    pub fn challenges(&self) -> bool {
        self.all_rules().any(|rule| rule.action.challenges())
    }

    /// What every response is scanned for if nothing is skipped and that needs no look at it: the only rule is for all.
    pub fn scan_plan_of_all(&self) -> Option<&ScanPlan> {
        let mut rules = self.rules();
        match (rules.next(), rules.next()) {
            (Some(only), None) if only.expression.is_everything() => only.action.scan_plan(),
            _ => None,
        }
    }

    /// What a response is scanned for by the rules that are for it; `None` if there are none.
    pub fn scan_plan(&self, facts: &Facts<'_>, decisions: &mut Decisions) -> Option<ScanPlan> {
        let mut plans: Vec<ScanPlan> = Vec::new();
        self.walk(Phase::HttpResponseFirewallManaged, facts, decisions, |execute, kind, decisions| {
            let Some(plan) = execute.scan_plan() else { return };
            let mut plan = plan.clone();
            if decisions.has_skips() {
                let skipped: Vec<&str> = decisions.skipped_rules(kind).collect();
                let rules = plan.detector.rules().iter().zip(plan.enabled.iter());
                let enabled = rules.map(|(rule, is_on)| *is_on && !skipped.contains(&rule.id.as_str()));
                plan.enabled = enabled.collect();
            }
            plans.push(plan);
        });
        let plan = ScanPlan::joined(plans.iter())?;
        plan.enabled.contains(&true).then_some(plan)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::time::Duration;

    use super::*;
    use seclang::RequestHead;

    const RESPONSE: Phase = Phase::HttpResponseFirewallManaged;

    #[test]
    fn rules_act_in_order_if_their_expression_matches_and_idle_ones_are_left_out() {
        let detector = Arc::new(crate::rules::sensitive(None).0);
        let rules = detector.rules().len();
        let mut list = Vec::new();
        let mut push = |id: &str, expression: &str, enabled: Vec<bool>| {
            let settings = detection::plan::Settings::default();
            let plan = ScanPlan { detector: Arc::clone(&detector), enabled: enabled.into(), settings };
            let action = CompiledAction::Execute(Execute::Scan(plan));
            let expression = Expression::parse(expression, RESPONSE).unwrap();
            let source = Arc::new(RuleSource { id: id.to_owned(), ..RuleSource::default() });
            list.push(CompiledRule { source, expression, action, rate: None });
        };
        push("idle", "true", vec![false; rules]);
        push("first", "http.host eq \"a.example\"", vec![true; rules]);
        push("other", "http.host eq \"b.example\"", vec![true; rules]);
        push("last", "true", vec![true; rules]);
        let mut entry_points = EntryPoints::default();
        entry_points.push(RESPONSE, RulesetKind::Zone, Arc::new(RuleList::new(list)));
        assert!(entry_points.of(Phase::HttpRequestFirewallManaged).is_none());
        let entry_point = entry_points.of(RESPONSE).unwrap();
        let head = RequestHead {
            method: b"GET",
            target: b"/",
            protocol: "HTTP/1.1",
            headers: &[(b"Host", b"a.example")],
            client: IpAddr::V4(Ipv4Addr::LOCALHOST),
            server: None,
            request_id: "0",
            received: Duration::ZERO,
        };
        let facts = Facts::new(&head, "a.example");
        let mut run = 0;
        entry_point.walk(RESPONSE, &facts, &mut Decisions::default(), |_, _, _| run += 1);
        assert_eq!(run, 2);
        let plan = |entry_point: &EntryPoint| entry_point.scan_plan(&facts, &mut Decisions::default());
        assert!(plan(entry_point).is_some() && entry_point.scan_plan_of_all().is_none());
        assert!(plan(&EntryPoint::default()).is_none(), "no rule has matched");
    }
}
