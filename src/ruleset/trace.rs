//! What the rules of a zone would do with a request, step by step, without sending it.
//!
//! Every rule that is asked is told, in order, as far as the request would get. Nothing is counted: a rule that limits a
//! rate is told with whether it is for the request, and lets that go on.

use std::cell::RefCell;
use std::sync::Arc;

use bytes::Bytes;

use super::actions::OriginChoice;
use super::decisions::{Decisions, Ending, Passed};
use super::entry_point::{CompiledRule, EntryPoints, RuleSource};
use super::verdict::{Outcome, Verdict};
use ::challenge::ChallengeLevel;
use expression::{Facts, PlaceSource, ReadBody};
use model::{Action, Phase};
use seclang::{BodyLimits, RequestHead};

/// A request as it is described.
#[derive(Debug)]
pub struct TracedRequest<'r> {
    pub head: RequestHead<'r>,
    /// In the form routing compares.
    pub host: &'r str,
    pub tls: bool,
    /// What its custom hostname brings with it: JSON as text.
    pub hostname_metadata: Option<&'r str>,
    /// Without content coding.
    pub body: Bytes,
    /// Whether its client has passed every challenge.
    pub skips_challenges: bool,
}

/// What rules do with it.
#[derive(Debug)]
pub struct Trace {
    /// The phases that have rules, in order, as far as it gets.
    pub phases: Vec<TracedPhase>,
    pub end: TraceEnd,
    /// Path and query that the origin is asked for.
    pub target: Vec<u8>,
    /// Which origin it goes to, if not one of the zone.
    pub origin: OriginChoice,
    /// What managed rules found.
    pub verdict: Verdict,
}

/// How a request ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceEnd {
    /// It goes to the origin.
    Sent,
    Blocked {
        status: u16,
    },
    Challenged(ChallengeLevel),
    /// Without an address if the rule gives none that is safe to follow.
    Redirected {
        status: u16,
        location: Option<String>,
    },
}

/// The rules of a phase.
#[derive(Debug)]
pub struct TracedPhase {
    pub phase: Phase,
    pub rules: Vec<TracedRule>,
}

/// A rule that was asked.
#[derive(Debug)]
pub struct TracedRule {
    pub source: Arc<RuleSource>,
    pub action: Action,
    pub expression: String,
    pub is_matched: bool,
    /// Whether it acts past a rate only, which is not counted here.
    pub has_rate: bool,
    /// The rules of a ruleset of the kind `custom` that it runs.
    pub rules: Vec<Self>,
}

/// Keeps what is asked during a walk.
#[derive(Debug, Default)]
pub(super) struct Tracer {
    rules: Vec<TracedRule>,
    /// The rules around, the outermost first.
    around: Vec<Vec<TracedRule>>,
}

impl Tracer {
    pub(super) fn asked(&mut self, rule: &CompiledRule, is_matched: bool) {
        self.rules.push(TracedRule {
            source: Arc::clone(&rule.source),
            action: rule.action.action(),
            expression: rule.expression.source().to_owned(),
            is_matched,
            has_rate: rule.rate.is_some(),
            rules: Vec::new(),
        });
    }

    /// The rules of a ruleset follow that the last rule runs.
    pub(super) fn enter(&mut self) {
        self.around.push(std::mem::take(&mut self.rules));
    }

    pub(super) fn leave(&mut self) {
        // INVARIANT: who leaves has entered, after a rule was asked.
        let outer = self.around.pop().unwrap_or_default();
        let inner = std::mem::replace(&mut self.rules, outer);
        if let Some(rule) = self.rules.last_mut() {
            rule.rules = inner;
        }
    }
}

impl EntryPoints {
    /// Takes a request past all rules of its phases.
    pub fn trace(&self, request: &TracedRequest<'_>, limits: BodyLimits, places: &dyn PlaceSource) -> Trace {
        let sent = request.head.origin_form().to_vec();
        let mut decisions = Decisions::default();
        if request.skips_challenges {
            let passed = Some(ChallengeLevel::Interactive);
            decisions.passed = Passed { by_zone: passed, by_request: passed, is_used: false };
        }
        let content_type = |(name, value): &(&[u8], &[u8])| {
            name.eq_ignore_ascii_case(b"content-type").then(|| value.to_vec())
        };
        let content_type = request.head.headers.iter().find_map(content_type).unwrap_or_default();
        let body = ReadBody::new(request.body.clone(), false, &content_type);
        let (target, origin) = (sent.clone(), OriginChoice::default());
        let mut trace =
            Trace { phases: Vec::new(), end: TraceEnd::Sent, target, origin, verdict: Verdict::default() };
        for phase in Phase::ALL.into_iter().filter(|phase| !phase.is_of_response()) {
            let Some(entry_point) = self.of(phase) else { continue };
            let target = trace.target.clone();
            let head = RequestHead { target: &target, ..request.head };
            let mut facts = Facts::new(&head, request.host);
            facts.hostname_metadata = request.hostname_metadata;
            let is_behind = phase > Phase::HttpRequestFirewallManaged;
            facts.score = is_behind.then_some(trace.verdict.score);
            let mut facts = facts.with_body(Some(&body)).with_places(Some(places));
            (facts.tls, facts.sent) = (request.tls, (target != sent).then_some(sent.as_slice()));
            let tracer = RefCell::default();
            let end = if phase == Phase::HttpRequestFirewallManaged {
                let mut run =
                    entry_point.start_traced(&mut decisions, &facts, limits, Some(&tracer), &mut ());
                run.body(&request.body, false, &mut ());
                trace.verdict = run.verdict();
                of_outcome(&trace.verdict)
            } else {
                entry_point
                    .walk_traced(phase, &facts, &mut decisions, Some(&tracer), |_, _, _| ())
                    .map_or(TraceEnd::Sent, of_ending)
            };
            trace.phases.push(TracedPhase { phase, rules: tracer.into_inner().rules });
            if end != TraceEnd::Sent {
                trace.end = end;
                return trace;
            }
            let edits = std::mem::take(&mut decisions.edits);
            trace.target = edits.target(&trace.target).unwrap_or(trace.target);
        }
        trace.origin = decisions.origin;
        trace
    }
}

fn of_outcome(verdict: &Verdict) -> TraceEnd {
    match &verdict.outcome {
        Outcome::Pass | Outcome::Logged { .. } => TraceEnd::Sent,
        Outcome::Blocked { status: status @ 300..=399, .. } => {
            TraceEnd::Redirected { status: *status, location: verdict.location.clone() }
        }
        Outcome::Blocked { status, .. } => TraceEnd::Blocked { status: *status },
        Outcome::Challenged { level, .. } => TraceEnd::Challenged(*level),
    }
}

fn of_ending(ending: Ending) -> TraceEnd {
    match ending {
        Ending::Refused(refusing) => {
            TraceEnd::Blocked { status: refusing.response.map_or(403, |response| response.status_code) }
        }
        Ending::Challenged { level, .. } => TraceEnd::Challenged(level),
        Ending::Redirected(redirection) => {
            TraceEnd::Redirected { status: redirection.status, location: redirection.location }
        }
        // INVARIANT: no rule of these phases serves an error.
        Ending::Served(_) => TraceEnd::Sent,
    }
}
