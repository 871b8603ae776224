//! What the rules of entry points decided for one request: what is passed over, and what is to be told.

use std::sync::Arc;

use super::actions::challenge;
use super::actions::{CompiledAction, Edits, Execute, OriginChoice, Redirection, Skip};
use super::entry_point::{CompiledRule, EntryPoint, RuleSource};
use super::rate_limiter::{PendingCount, RateFinding};
use ::challenge::ChallengeLevel;
use counters::RateExceeded;
use expression::Facts;
use model::ruleset::BlockResponse;
use model::{Action, Phase, RulesetKind};

/// The decisions so far. What a rule of an account passes over are rules of accounts, and so with zones.
#[derive(Debug, Default)]
pub struct Decisions {
    skips: Vec<(RulesetKind, Arc<Skip>)>,
    /// Rules that are told in events, in the order in which they matched.
    pub told: Vec<ToldRule>,
    /// What is counted when the answer is known.
    pub pending: Vec<PendingCount>,
    /// What is changed of the message.
    pub edits: Edits,
    /// Which origin it goes to, if not one of the zone.
    pub origin: OriginChoice,
    /// The challenges that the client has passed.
    pub passed: Passed,
}

/// The challenges that the client of a request has passed, as far as that holds for the request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passed {
    /// For rules that people write.
    pub by_zone: Option<ChallengeLevel>,
    /// For managed rules, which have each suspicious request pass one.
    pub by_request: Option<ChallengeLevel>,
    /// Whether one of these let the request go on.
    pub is_used: bool,
}

/// A point in the decisions for one request.
#[derive(Clone, Copy, Debug)]
pub struct DecisionsMark {
    skips: usize,
    told: usize,
}

/// A rule that matched and gets an event.
#[derive(Clone, Debug)]
pub struct ToldRule {
    pub source: Arc<RuleSource>,
    pub phase: Phase,
    pub action: Action,
}

/// What ends the walk of an entry point.
#[derive(Clone, Debug)]
pub enum Ending {
    Refused(Refusing),
    Challenged { source: Arc<RuleSource>, level: ChallengeLevel },
    Redirected(Redirection),
}

/// A rule that refuses the request.
#[derive(Clone, Debug)]
pub struct Refusing {
    pub source: Arc<RuleSource>,
    /// The answer that it has of its own.
    pub response: Option<Arc<BlockResponse>>,
    /// The rate that was exceeded.
    pub exceeded: Option<RateExceeded>,
}

impl Decisions {
    fn of(&self, kind: RulesetKind) -> impl Iterator<Item = &Skip> {
        self.skips.iter().filter(move |(of, _)| *of == kind).map(|(_, skip)| skip.as_ref())
    }

    fn skips_phase(&self, kind: RulesetKind, phase: Phase) -> bool {
        self.of(kind).any(|skip| skip.phases.contains(&phase))
    }

    fn skips_run(&self, kind: RulesetKind, execute: &Execute) -> bool {
        self.of(kind).any(|skip| skip.rulesets.iter().any(|skipped| execute.runs(skipped)))
    }

    /// Rules of managed rulesets that are passed over where a ruleset of this kind runs them, as their sources name them.
    pub fn skipped_rules(&self, kind: RulesetKind) -> impl Iterator<Item = &str> {
        self.of(kind).flat_map(|skip| &skip.rules).map(String::as_str)
    }

    /// How much was decided so far, to go back to.
    pub fn mark(&self) -> DecisionsMark {
        DecisionsMark { skips: self.skips.len(), told: self.told.len() }
    }

    /// Forgets what was decided since a mark.
    pub fn go_back_to(&mut self, mark: DecisionsMark) {
        self.skips.truncate(mark.skips);
        self.told.truncate(mark.told);
    }

    /// Whether anything is passed over.
    pub fn has_skips(&self) -> bool {
        !self.skips.is_empty()
    }
}

impl EntryPoint {
    /// Walks the rules that are for a request or its response in order, up to one that ends the request. What `execute`
    /// rules run is handed on, with the kind of the ruleset that they are of.
    pub fn walk<'e>(
        &'e self,
        phase: Phase,
        facts: &Facts<'_>,
        decisions: &mut Decisions,
        mut run: impl FnMut(&'e Execute, RulesetKind, &Decisions),
    ) -> Option<Ending> {
        let mut left: Option<RulesetKind> = None;
        for CompiledRule { source, expression, action, rate } in &self.rules {
            let kind = source.kind;
            let is_skipped =
                left == Some(kind) || decisions.has_skips() && decisions.skips_phase(kind, phase);
            if is_skipped {
                continue;
            }
            let is_passed = matches!(action, CompiledAction::Challenge(level) if Some(*level) <= decisions.passed.by_zone);
            let is_for = expression.matches(facts);
            let exceeded = match rate {
                None if is_for => None,
                None => continue,
                Some(rate) => {
                    let counts_all = is_passed || !action.refuses();
                    let finding = rate.judge(is_for, counts_all, facts);
                    let Some(RateFinding { exceeded, pending }) = finding else { continue };
                    decisions.pending.extend(pending);
                    if exceeded.is_none() {
                        continue;
                    }
                    exceeded
                }
            };
            let told = |action| ToldRule { source: Arc::clone(source), phase, action };
            match action {
                CompiledAction::Execute(execute) => {
                    if !decisions.skips_run(kind, execute) {
                        run(execute, kind, decisions);
                    }
                }
                CompiledAction::Log => decisions.told.push(told(Action::Log)),
                CompiledAction::Block(response) => {
                    decisions.told.push(told(Action::Block));
                    let response = response.clone();
                    let refusing = Refusing { source: Arc::clone(source), response, exceeded };
                    return Some(Ending::Refused(refusing));
                }
                CompiledAction::Challenge(_) if is_passed => decisions.passed.is_used = true,
                CompiledAction::Challenge(level) => {
                    decisions.told.push(told(challenge::action(*level)));
                    return Some(Ending::Challenged { source: Arc::clone(source), level: *level });
                }
                CompiledAction::Redirect(redirect) => {
                    if let Some(redirection) = redirect.answer(facts) {
                        return Some(Ending::Redirected(redirection));
                    }
                }
                CompiledAction::Route(choice) => decisions.origin.add(choice),
                CompiledAction::Rewrite(rewrite) => rewrite.add_to(facts, &mut decisions.edits),
                CompiledAction::Skip(skip) => {
                    if skip.is_told {
                        decisions.told.push(told(Action::Skip));
                    }
                    decisions.skips.push((kind, Arc::clone(skip)));
                    // INVARIANT: of each kind there is one ruleset in a phase, and those of the account come first.
                    left = skip.rest.then_some(kind);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;
    use expression::Expression;
    use seclang::RequestHead;

    #[test]
    fn what_is_decided_for_each_message_of_a_stream_does_not_pile_up() {
        let phase = Phase::HttpRequestFirewallManaged;
        let skip = Skip { rules: vec!["1".to_owned()], is_told: true, ..Skip::default() };
        let rule = CompiledRule {
            source: Arc::default(),
            expression: Expression::everything(),
            action: CompiledAction::Skip(Arc::new(skip)),
            rate: None,
        };
        let entry_point = EntryPoint { rules: vec![rule] };
        let head = RequestHead {
            method: b"POST",
            target: b"/",
            protocol: "HTTP/2.0",
            headers: &[],
            client: Ipv4Addr::LOCALHOST.into(),
            server: None,
            request_id: "0",
            received: Duration::ZERO,
        };
        let facts = Facts::of_request(&head);
        let mut decisions = Decisions::default();
        let skipped = |decisions: &Decisions| decisions.skipped_rules(RulesetKind::Zone).count();
        entry_point.walk(phase, &facts, &mut decisions, |_, _, _| ());
        for _ in 0..3 {
            let mark = decisions.mark();
            entry_point.walk(phase, &facts, &mut decisions, |_, _, _| ());
            assert_eq!((skipped(&decisions), decisions.told.len()), (2, 2));
            decisions.go_back_to(mark);
        }
        assert_eq!((skipped(&decisions), decisions.told.len()), (1, 1));
    }
}
