//! The rules of the request phases at work on one request and its response.

use std::cell::RefCell;
use std::sync::Arc;

use bytes::Bytes;

use super::actions::Execute;
use super::decisions::Decisions;
use super::entry_point::EntryPoint;
use super::plans::ScoredRuleset;
use super::trace::Tracer;
use super::verdict::{Outcome, RuleReference, Verdict};
use ::challenge::ChallengeLevel;
use expression::{AnomalyScore, Facts};
use model::{Phase, RulesetId};
use seclang::audit::AuditRecord;
use seclang::{BodyLimits, Interruption, RequestHead, ResponseHead, Transaction, Watch};

/// A managed ruleset that scores the request.
#[derive(Debug)]
struct Scoring {
    transaction: Transaction,
    ruleset: RulesetId,
    /// As in [`ScoredRuleset`].
    threshold_rule: u64,
    challenge: Option<ChallengeLevel>,
    /// What rules that people wrote add to its score.
    added: i64,
    /// The score from which on its threshold rule acts.
    threshold: i64,
    /// Whether that rule only reports this request.
    only_reports: bool,
    /// Whether the threshold was reached by what was added, and reported.
    is_reached: bool,
}

impl Scoring {
    fn score(&self) -> i64 {
        self.transaction.score().saturating_add(self.added)
    }

    /// Acts as the threshold rule does if the threshold is reached only with what was added.
    fn judge_added(&mut self) -> Option<Interruption> {
        if self.added == 0 || self.threshold_rule == 0 || self.score() < self.threshold {
            return None;
        }
        self.is_reached = true;
        let (rule, phase) = (self.threshold_rule, seclang::Phase::RequestBody);
        (!self.only_reports).then_some(Interruption { rule, status: 403, phase, location: None })
    }
}

/// An entry point at work on one request.
#[derive(Debug)]
pub struct Run {
    scorings: Vec<Scoring>,
    /// The refusal of a rule, with its ruleset.
    interruption: Option<(RulesetId, Interruption)>,
}

impl EntryPoint {
    /// Judges the head of a request by the rules that are for it, as if no phase were before.
    pub fn start(&self, facts: &Facts<'_>, limits: BodyLimits, watch: &mut impl Watch) -> Run {
        self.start_after(&mut Decisions::default(), facts, limits, watch)
    }

    /// Judges the head of a request by the rules that are for it and that nothing passes over.
    pub fn start_after(
        &self,
        decisions: &mut Decisions,
        facts: &Facts<'_>,
        limits: BodyLimits,
        watch: &mut impl Watch,
    ) -> Run {
        self.start_traced(decisions, facts, limits, None, watch)
    }

    /// As `start_after`; the tracer is told of each rule of entry points that is asked.
    pub(super) fn start_traced(
        &self,
        decisions: &mut Decisions,
        facts: &Facts<'_>,
        limits: BodyLimits,
        tracer: Option<&RefCell<Tracer>>,
        watch: &mut impl Watch,
    ) -> Run {
        let mut run = Run { scorings: Vec::new(), interruption: None };
        let phase = Phase::HttpRequestFirewallManaged;
        self.walk_traced(phase, facts, decisions, tracer, |execute, kind, decisions| {
            match execute {
                Execute::Score(scored) => {
                    // INVARIANT: rules of the managed ruleset that scores are named by numbers.
                    let skipped = decisions.skipped_rules(kind).filter_map(|rule| rule.parse().ok());
                    run.begin(scored, facts.request, limits, skipped, decisions);
                }
                // INVARIANT: rules of the request phases never scan responses.
                // Those of the kind `custom` are walked already.
                Execute::Scan(_) | Execute::Custom(_) => {}
            }
        });
        run.phase(seclang::Phase::RequestHeaders, watch);
        run
    }
}

impl Run {
    /// Has a managed ruleset score the request.
    fn begin(
        &mut self,
        scored: &ScoredRuleset,
        head: &RequestHead<'_>,
        limits: BodyLimits,
        skipped: impl IntoIterator<Item = u64>,
        decisions: &Decisions,
    ) {
        let mut transaction = Transaction::new(Arc::clone(&scored.plan), limits);
        transaction.exclude(skipped);
        let passed = decisions.passed.by_request;
        let has_passed = scored.challenge.is_some_and(|level| Some(level) <= passed);
        if has_passed {
            transaction.only_report(scored.threshold_rule);
        }
        transaction.client_is_listed_in(&decisions.listed_in);
        transaction.request_head(head);
        self.scorings.push(Scoring {
            transaction,
            ruleset: scored.id.clone(),
            threshold_rule: scored.threshold_rule,
            challenge: scored.challenge,
            added: decisions.score,
            threshold: scored.threshold,
            only_reports: scored.only_reports || has_passed,
            is_reached: false,
        });
    }

    fn phase(&mut self, phase: seclang::Phase, watch: &mut impl Watch) {
        if self.interruption.is_none() {
            self.interruption = self.scorings.iter_mut().find_map(|scoring| {
                let interruption = scoring.transaction.run_watched(phase, watch);
                let judged = interruption.or_else(|| match phase {
                    seclang::Phase::RequestBody => scoring.judge_added(),
                    _ => None,
                });
                Some((scoring.ruleset.clone(), judged?))
            });
        }
    }

    /// What the rules add up to so far.
    pub fn score(&self) -> i64 {
        self.scorings.iter().map(Scoring::score).sum()
    }

    /// What the rules found so far, and how much of it is of a kind of attack.
    pub fn found(&self) -> AnomalyScore {
        let of = |tag: &str| self.scorings.iter().map(|scoring| scoring.transaction.score_of(tag)).sum();
        AnomalyScore {
            all: self.score(),
            sqli: of("attack-sqli"),
            xss: of("attack-xss"),
            rce: of("attack-rce"),
        }
    }

    /// Whether no rule is for this request.
    pub fn is_empty(&self) -> bool {
        self.scorings.is_empty()
    }

    /// Judges the body. Must be called for requests without one too: most rules wait for it.
    pub fn body(&mut self, body: &Bytes, cut: bool, watch: &mut impl Watch) {
        for scoring in &mut self.scorings {
            scoring.transaction.request_body(body.clone(), cut);
        }
        self.phase(seclang::Phase::RequestBody, watch);
    }

    /// Judges the head of the response.
    pub fn response_head(&mut self, head: &ResponseHead<'_>, watch: &mut impl Watch) {
        for scoring in &mut self.scorings {
            scoring.transaction.response_head(head);
        }
        self.phase(seclang::Phase::ResponseHeaders, watch);
    }

    /// Whether rules want to see the response body.
    pub fn wants_response_body(&self) -> bool {
        self.scorings.iter().any(|scoring| scoring.transaction.wants_response_body())
    }

    /// Judges the response body; `None` if it is not shown to the rules.
    pub fn response_body(&mut self, body: Option<&Bytes>, cut: bool, watch: &mut impl Watch) {
        if let Some(body) = body {
            for scoring in &mut self.scorings {
                scoring.transaction.response_body(body.clone(), cut);
            }
        }
        self.phase(seclang::Phase::ResponseBody, watch);
    }

    /// Runs the rules that only look back.
    pub fn finish(&mut self) {
        for scoring in &mut self.scorings {
            scoring.transaction.run(seclang::Phase::Logging);
        }
    }

    /// Whether rule files ask for an audit log.
    pub fn has_audit_log(&self) -> bool {
        self.scorings.iter().any(|scoring| scoring.transaction.has_audit_log())
    }

    /// What audit logs are to hold of the request; `written` is the response that the client got.
    pub fn audit_records(&mut self, written: &ResponseHead<'_>) -> impl Iterator<Item = AuditRecord> {
        let scorings = self.scorings.iter_mut().filter(|scoring| scoring.transaction.has_audit_log());
        scorings.filter_map(|scoring| scoring.transaction.audit_record(written))
    }

    /// Whether the request is refused already.
    pub fn is_blocked(&self) -> bool {
        self.interruption.is_some()
    }

    /// Whether there were more arguments than are looked at.
    pub fn has_too_many_arguments(&self) -> bool {
        self.scorings.iter().any(|scoring| scoring.transaction.has_too_many_arguments())
    }

    /// What was decided, with what matched.
    pub fn verdict(&self) -> Verdict {
        let matches: Vec<_> =
            self.scorings.iter().flat_map(|scoring| scoring.transaction.matches()).collect();
        let outcome = match &self.interruption {
            Some((ruleset, Interruption { rule, status, .. })) => {
                let of_threshold =
                    |scoring: &&Scoring| scoring.ruleset == *ruleset && scoring.threshold_rule == *rule;
                let challenge = self.scorings.iter().find(of_threshold).and_then(|scoring| scoring.challenge);
                let rule = RuleReference::of_managed(ruleset.clone(), *rule);
                match challenge {
                    Some(level) => Outcome::Challenged { rule, level },
                    None => Outcome::Blocked { rule, status: *status },
                }
            }
            None => {
                let reached = |m: &seclang::Match| {
                    let scoring = self.scorings.iter().find(|scoring| scoring.threshold_rule == m.rule)?;
                    Some(RuleReference::of_managed(scoring.ruleset.clone(), m.rule))
                };
                let by_added = || {
                    let scoring = self.scorings.iter().find(|scoring| scoring.is_reached)?;
                    Some(RuleReference::of_managed(scoring.ruleset.clone(), scoring.threshold_rule))
                };
                let rule = matches.iter().find_map(reached).or_else(by_added);
                rule.map_or(Outcome::Pass, |rule| Outcome::Logged { rule })
            }
        };
        let location = self.interruption.as_ref().and_then(|(_, interruption)| interruption.location.clone());
        Verdict { outcome, score: self.found(), matches, location }
    }
}
