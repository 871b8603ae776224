//! The compiled rules of one ruleset, and how a request or its response is taken past them.

use std::cell::RefCell;
use std::sync::Arc;

use super::actions::challenge;
use super::actions::{CompiledAction, Execute};
use super::decisions::{ActedRule, Decisions, Ending, Refusing, ToldRule};
use super::entry_point::CompiledRule;
use super::rate_limiter::RateFinding;
use super::trace::Tracer;
use counters::RateExceeded;
use expression::{CandidateSet, ExpressionIndex, Facts};
use model::{Action, Phase, RulesetKind};

/// The rules of a ruleset, in order, without those that do nothing.
#[derive(Debug, Default)]
pub struct RuleList {
    rules: Vec<CompiledRule>,
    /// Which of them can match a request; absent if they are few.
    index: Option<ExpressionIndex>,
    /// Whether one of them asks for the body of a request.
    reads_body: bool,
}

/// Where a walk is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk<'f, 'r> {
    pub(super) phase: Phase,
    /// The kind of the entry point.
    pub(super) kind: RulesetKind,
    pub(super) facts: &'f Facts<'r>,
    /// Who is told of each rule that is asked. Then nothing is counted.
    pub(super) tracer: Option<&'f RefCell<Tracer>>,
}

/// What an action has its walk do.
enum Step {
    GoOn,
    /// Leave the rest of the ruleset out.
    Leave,
    End(Ending),
}

impl RuleList {
    pub fn new(rules: Vec<CompiledRule>) -> Self {
        let rules: Vec<_> = rules.into_iter().filter(|rule| !rule.action.is_idle()).collect();
        // What a rule counts may be another thing than what it is for.
        let expressions = rules.iter().map(|rule| rule.rate.is_none().then_some(&rule.expression));
        let index = ExpressionIndex::new(expressions);
        let reads_body = rules.iter().any(CompiledRule::reads_body);
        Self { rules, index, reads_body }
    }

    pub fn reads_body(&self) -> bool {
        self.reads_body
    }

    pub fn rules(&self) -> &[CompiledRule] {
        &self.rules
    }

    /// Takes a request past the rules that can be for it.
    pub(super) fn walk<'l>(
        &'l self,
        walk: Walk<'_, '_>,
        decisions: &mut Decisions,
        run: &mut dyn FnMut(&'l Execute, RulesetKind, &Decisions),
    ) -> Option<Ending> {
        let index = self.index.as_ref().filter(|_| walk.tracer.is_none());
        let candidates = index.map(|index| index.candidates(walk.facts));
        let next =
            |from| candidates.as_ref().map_or(Some(from), |candidates: &CandidateSet| candidates.from(from));
        let mut at = 0;
        while let Some((nth, rule)) = next(at).and_then(|nth| Some((nth, self.rules.get(nth)?))) {
            if decisions.has_skips() && decisions.skips_phase(walk.kind, walk.phase) {
                return None;
            }
            if decisions.has_skips() && decisions.skips_rule(walk.kind, &rule.source) {
                at = nth + 1;
                continue;
            }
            match rule.judge(walk, decisions, run) {
                Step::GoOn => at = nth + 1,
                Step::Leave => return None,
                Step::End(ending) => return Some(ending),
            }
        }
        None
    }
}

impl CompiledRule {
    fn told(&self, phase: Phase, action: Action) -> ToldRule {
        let (source, expression) = (Arc::clone(&self.source), self.expression.clone());
        ToldRule { source, phase, action, expression }
    }

    /// Whether the rule acts on a request: it is for it, and the request has come past its rate, if it has one, which is
    /// then given.
    fn acts(
        &self,
        walk: Walk<'_, '_>,
        is_passed: bool,
        decisions: &mut Decisions,
    ) -> Option<Option<RateExceeded>> {
        let Walk { facts, tracer, .. } = walk;
        let is_for = self.expression.matches(facts);
        if let Some(tracer) = tracer {
            tracer.borrow_mut().asked(self, is_for);
        }
        let Some(rate) = &self.rate else { return is_for.then_some(None) };
        if tracer.is_some() {
            return None;
        }
        let counts_all = is_passed || !self.action.refuses();
        let RateFinding { exceeded, pending } = rate.judge(is_for, counts_all, facts)?;
        decisions.pending.extend(pending);
        exceeded.map(Some)
    }

    /// Does what the rule does, if it acts.
    fn judge<'l>(
        &'l self,
        walk: Walk<'_, '_>,
        decisions: &mut Decisions,
        run: &mut dyn FnMut(&'l Execute, RulesetKind, &Decisions),
    ) -> Step {
        let Self { source, action, .. } = self;
        let Walk { phase, kind, facts, tracer } = walk;
        let is_passed =
            matches!(action, CompiledAction::Challenge(level) if Some(*level) <= decisions.passed.by_zone);
        let Some(exceeded) = self.acts(walk, is_passed, decisions) else { return Step::GoOn };
        let told = |action| self.told(phase, action);
        if action.changes() {
            let (source, action) = (Arc::clone(source), action.action());
            decisions.acted.push(ActedRule { source, phase, action });
        }
        match action {
            CompiledAction::Execute(execute) if decisions.skips_run(kind, execute) => {}
            CompiledAction::Execute(Execute::Custom(custom)) => {
                if let Some(tracer) = tracer {
                    tracer.borrow_mut().enter();
                }
                let ending = custom.list.walk(walk, decisions, run);
                if let Some(tracer) = tracer {
                    tracer.borrow_mut().leave();
                }
                if let Some(ending) = ending {
                    return Step::End(ending);
                }
            }
            CompiledAction::Execute(execute) => run(execute, kind, decisions),
            CompiledAction::Log => decisions.told.push(told(Action::Log)),
            CompiledAction::Block(response) => {
                decisions.told.push(told(Action::Block));
                let response = response.clone();
                let refusing = Refusing { source: Arc::clone(source), response, exceeded };
                return Step::End(Ending::Refused(refusing));
            }
            CompiledAction::Challenge(_) if is_passed => decisions.passed.is_used = true,
            CompiledAction::Challenge(level) => {
                decisions.told.push(told(challenge::action(*level)));
                return Step::End(Ending::Challenged { source: Arc::clone(source), level: *level });
            }
            CompiledAction::Redirect(redirect) => {
                if let Some(redirection) = redirect.answer(facts) {
                    return Step::End(Ending::Redirected(redirection));
                }
            }
            CompiledAction::Route(choice) => decisions.origin.add(choice),
            CompiledAction::ServeError(page) => return Step::End(Ending::Served(Arc::clone(page))),
            CompiledAction::SetConfig(settings) => {
                settings.put_into(decisions.settings.get_or_insert_default())
            }
            CompiledAction::SetCacheSettings(settings) => settings.put_into(&mut decisions.cache),
            CompiledAction::CompressResponse(encodings) => decisions.encodings = Some(Arc::clone(encodings)),
            CompiledAction::Score(increment) => {
                decisions.told.push(told(Action::Score));
                decisions.score = decisions.score.saturating_add(*increment);
            }
            CompiledAction::Rewrite(rewrite) => rewrite.add_to(facts, &mut decisions.edits),
            CompiledAction::Skip(skip) => {
                if skip.is_told {
                    decisions.told.push(told(Action::Skip));
                }
                decisions.add_skip(kind, Arc::clone(skip));
                if skip.rest {
                    return Step::Leave;
                }
            }
        }
        Step::GoOn
    }
}
