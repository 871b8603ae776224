//! What the rules of entry points decided for one request: what is passed over, and what is to be told.

use std::sync::Arc;

use super::actions::{Edits, Execute, OriginChoice, Redirection, Skip};
use super::entry_point::RuleSource;
use super::rate_limiter::PendingCount;
use ::challenge::ChallengeLevel;
use body::compress::ContentEncoding;
use counters::RateExceeded;
use expression::Expression;
use model::cache_settings::CacheParameters;
use model::ruleset::{BlockResponse, ErrorPage};
use model::{Action, Phase, RulesetKind, TrafficSettings};

/// The decisions so far. What a rule of an account passes over are rules of accounts, and so with zones.
#[derive(Debug, Default)]
pub struct Decisions {
    skips: Vec<(RulesetKind, Arc<Skip>)>,
    /// Rules that are told in events, in the order in which they matched.
    pub told: Vec<ToldRule>,
    /// Rules that led it elsewhere or changed something of it or its answer, in the order in which they matched.
    pub acted: Vec<ActedRule>,
    /// What is counted when the answer is known.
    pub pending: Vec<PendingCount>,
    /// What is changed of the message.
    pub edits: Edits,
    /// Which origin it goes to, if not one of the zone.
    pub origin: OriginChoice,
    /// What is added to the score of managed rules.
    pub score: i64,
    /// In what other ways it is treated than its zone is set to. Boxed, because few zones have such rules.
    pub settings: Option<Box<TrafficSettings>>,
    /// Whether and how long its response is kept.
    pub cache: CacheParameters,
    /// The codings that its response may be compressed by.
    pub encodings: Option<Arc<[ContentEncoding]>>,
    /// The challenges that the client has passed.
    pub passed: Passed,
    /// Block lists that name the client, of those that managed rules ask.
    pub listed_in: Vec<Arc<str>>,
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
    /// What it matched by.
    pub expression: Expression,
}

/// A rule that changed something.
#[derive(Clone, Debug)]
pub struct ActedRule {
    pub source: Arc<RuleSource>,
    pub phase: Phase,
    pub action: Action,
}

/// What ends the walk of an entry point.
#[derive(Clone, Debug)]
pub enum Ending {
    Refused(Refusing),
    Challenged {
        source: Arc<RuleSource>,
        level: ChallengeLevel,
    },
    Redirected(Redirection),
    /// The page takes the place of an error.
    Served(Arc<ErrorPage>),
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

    /// Passes over something from now on, where rules of this kind are.
    pub(super) fn add_skip(&mut self, kind: RulesetKind, skip: Arc<Skip>) {
        self.skips.push((kind, skip));
    }

    pub(super) fn skips_phase(&self, kind: RulesetKind, phase: Phase) -> bool {
        self.of(kind).any(|skip| skip.phases.contains(&phase))
    }

    pub(super) fn skips_run(&self, kind: RulesetKind, execute: &Execute) -> bool {
        self.of(kind).any(|skip| skip.rulesets.iter().any(|skipped| execute.runs(skipped)))
    }

    pub(super) fn skips_rule(&self, kind: RulesetKind, source: &RuleSource) -> bool {
        let mut skipped = self.of(kind).flat_map(|skip| &skip.custom_rules);
        source.kind == RulesetKind::Custom
            && skipped.any(|(ruleset, rule)| *ruleset == source.ruleset && *rule == source.id)
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

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;
    use crate::ruleset::{CompiledAction, CompiledRule, EntryPoint, RuleList};
    use expression::Facts;
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
        let mut entry_point = EntryPoint::default();
        entry_point.push(RulesetKind::Zone, Arc::new(RuleList::new(vec![rule])));
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
