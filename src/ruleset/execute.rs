//! A zone's entry point for the request phase, compiled, and its run over one request.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use super::managed::ManagedRuleset;
use super::overrides::{self, Effective};
use super::score;
use super::trace::{Outcome, Verdict};
use diagnostic::Diagnostics;
use expression::{Expression, Facts};
use seclang::BodyLimits;
use seclang::audit::AuditRecord;
use seclang::{Interruption, Plan, PlanSettings, Program, ResponseHead, Transaction, Watch};

/// The `execute` rules of an entry point, in order.
#[derive(Clone, Debug)]
pub struct EntryPoint {
    pub executions: Vec<Execution>,
}

/// One `execute` rule: a managed ruleset under its overrides.
#[derive(Clone, Debug)]
pub struct Execution {
    /// The requests it is for.
    pub expression: Expression,
    pub plan: Arc<Plan>,
    /// The rule that carries the threshold, for events; 0 where it does not run.
    pub threshold_rule: u64,
}

impl Execution {
    /// A managed ruleset, whose rules `program` holds, under its effective settings; for every request.
    pub fn new(program: &Arc<Program>, managed: &ManagedRuleset, effective: &Effective) -> Self {
        Plans::default().execution(program, managed, effective)
    }

    fn of(plan: Arc<Plan>, managed: &ManagedRuleset, effective: &Effective) -> Self {
        let threshold_rule = managed.threshold_rule().filter(|_| effective.action.is_some());
        let threshold_rule = threshold_rule.and_then(|rule| rule.reference.parse().ok()).unwrap_or(0);
        Self { expression: Expression::everything(), plan, threshold_rule }
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
    /// As [`Execution::new`], with a plan that was made before if there is one.
    pub fn execution(
        &mut self,
        program: &Arc<Program>,
        managed: &ManagedRuleset,
        effective: &Effective,
    ) -> Execution {
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
        Execution::of(plan, managed, effective)
    }
}

/// An entry point at work on one request.
#[derive(Debug)]
pub struct Run {
    transactions: Vec<(Transaction, u64)>,
    interruption: Option<Interruption>,
}

impl EntryPoint {
    /// Whether anything runs at all.
    pub fn is_empty(&self) -> bool {
        self.executions.iter().all(|execution| execution.plan.rules() == 0)
    }

    /// Judges the head of a request by the rules that are for it.
    pub fn start(&self, facts: &Facts<'_>, limits: BodyLimits, watch: &mut impl Watch) -> Run {
        let executed = self.executions.iter().filter(|execution| execution.expression.matches(facts));
        let transactions = executed.map(|execution| {
            let mut transaction = Transaction::new(Arc::clone(&execution.plan), limits);
            transaction.request_head(facts.request);
            (transaction, execution.threshold_rule)
        });
        let mut run = Run { transactions: transactions.collect(), interruption: None };
        run.phase(seclang::Phase::RequestHeaders, watch);
        run
    }
}

impl Run {
    fn phase(&mut self, phase: seclang::Phase, watch: &mut impl Watch) {
        if self.interruption.is_none() {
            let mut transactions = self.transactions.iter_mut();
            self.interruption =
                transactions.find_map(|(transaction, _)| transaction.run_watched(phase, watch));
        }
    }

    /// Whether no rule is for this request.
    pub fn is_empty(&self) -> bool {
        self.transactions.is_empty()
    }

    /// Judges the body. Must be called for requests without one too: most rules wait for it.
    pub fn body(&mut self, body: &Bytes, cut: bool, watch: &mut impl Watch) {
        for (transaction, _) in &mut self.transactions {
            transaction.request_body(body.clone(), cut);
        }
        self.phase(seclang::Phase::RequestBody, watch);
    }

    /// Judges the head of the response.
    pub fn response_head(&mut self, head: &ResponseHead<'_>, watch: &mut impl Watch) {
        for (transaction, _) in &mut self.transactions {
            transaction.response_head(head);
        }
        self.phase(seclang::Phase::ResponseHeaders, watch);
    }

    /// Whether rules want to see the response body.
    pub fn wants_response_body(&self) -> bool {
        self.transactions.iter().any(|(transaction, _)| transaction.wants_response_body())
    }

    /// Judges the response body; `None` where it is not shown to the rules.
    pub fn response_body(&mut self, body: Option<&Bytes>, cut: bool, watch: &mut impl Watch) {
        if let Some(body) = body {
            for (transaction, _) in &mut self.transactions {
                transaction.response_body(body.clone(), cut);
            }
        }
        self.phase(seclang::Phase::ResponseBody, watch);
    }

    /// Runs the rules that only look back.
    pub fn finish(&mut self) {
        for (transaction, _) in &mut self.transactions {
            transaction.run(seclang::Phase::Logging);
        }
    }

    /// Whether rule files ask for an audit log.
    pub fn has_audit_log(&self) -> bool {
        self.transactions.iter().any(|(transaction, _)| transaction.has_audit_log())
    }

    /// What audit logs are to hold of the request; `written` is the response that the client got.
    pub fn audit_records(&mut self, written: &ResponseHead<'_>) -> impl Iterator<Item = AuditRecord> {
        let transactions =
            self.transactions.iter_mut().filter(|(transaction, _)| transaction.has_audit_log());
        transactions.filter_map(|(transaction, _)| transaction.audit_record(written))
    }

    /// Whether the request is refused already.
    pub fn is_blocked(&self) -> bool {
        self.interruption.is_some()
    }

    /// Whether there were more arguments than are looked at.
    pub fn has_too_many_arguments(&self) -> bool {
        self.transactions.iter().any(|(transaction, _)| transaction.has_too_many_arguments())
    }

    /// What was decided, with what matched.
    pub fn verdict(&self) -> Verdict {
        let score = self.transactions.iter().map(|(transaction, _)| transaction.score()).sum();
        let matches: Vec<_> =
            self.transactions.iter().flat_map(|(transaction, _)| transaction.matches()).collect();
        let outcome = match &self.interruption {
            Some(interruption) => Outcome::Blocked { rule: interruption.rule, status: interruption.status },
            None => {
                let reached = |m: &&seclang::Match| self.transactions.iter().any(|(_, rule)| *rule == m.rule);
                matches.iter().find(reached).map_or(Outcome::Pass, |m| Outcome::Logged { rule: m.rule })
            }
        };
        let location = self.interruption.as_ref().and_then(|interruption| interruption.location.clone());
        Verdict { outcome, score, matches, location }
    }
}
