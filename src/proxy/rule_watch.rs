//! The time that rules take: what a request may spend on them, and what each of them costs.

use std::time::Duration;

use pingora::Result;

use super::context::Context;
use super::inspect::Inspection;
use super::refusal::Refusal;
use super::refuse;
use crate::clock::{Clock, Stopwatch};
use crate::conf::RulesTimePolicy;
use crate::events::RuleCost;
use crate::events::kinds::RulesUnfinished;
use crate::ruleset::Run;
use seclang::Watch;

/// Times the rules, each by itself, of one in this many requests.
const SAMPLED_REQUESTS: u64 = 128;

/// Looks on as rules judge a part of a request. Without a limit, and if the request is not of the
/// sample, it never asks for the time.
pub(super) struct RuleWatch {
    started: Stopwatch,
    left: Option<Duration>,
    costs: Option<Vec<RuleCost>>,
    /// The rule that was asked last, and when. If the time was up before the first, that one.
    running: Option<(u64, Duration)>,
    expired: bool,
}

/// What a watch is made of; its time begins with the first rule, not while a thread is waited for.
struct RuleTime {
    clock: Clock,
    left: Option<Duration>,
    is_sampled: bool,
}

impl RuleWatch {
    fn start(time: &RuleTime) -> Self {
        let costs = time.is_sampled.then(Vec::new);
        Self { started: time.clock.start(), left: time.left, costs, running: None, expired: false }
    }
}

impl Watch for RuleWatch {
    fn begins(&mut self, rule: u64) -> bool {
        if self.left.is_none() && self.costs.is_none() {
            return true;
        }
        let now = self.started.elapsed();
        self.expired = self.left.is_some_and(|left| now > left);
        if !self.expired || self.running.is_none() {
            self.running = Some((rule, now));
        }
        !self.expired
    }

    fn ends(&mut self, rule: u64, matched: bool) {
        if let (Some(costs), Some((_, began))) = (&mut self.costs, self.running) {
            let time = self.started.elapsed().saturating_sub(began);
            costs.push(RuleCost { rule, time, hits: u64::from(matched) });
        }
    }
}

impl Inspection {
    /// Whether the rules of a new request are timed.
    pub(super) fn samples_rules(&self) -> bool {
        self.judged.fetch_add(1, std::sync::atomic::Ordering::Relaxed).is_multiple_of(SAMPLED_REQUESTS)
    }

    /// Has rules judge a part of a request within the time that it has left, and ends the request
    /// if they refused it.
    pub(super) fn run_rules(
        &self,
        ctx: &mut Context,
        judge: impl FnOnce(&mut Context, &mut RuleWatch),
    ) -> Result<()> {
        let mut watch = RuleWatch::start(&self.rule_time(ctx));
        judge(ctx, &mut watch);
        let spent = watch.started.elapsed();
        self.rules_ran(ctx, &watch, spent)
    }

    /// Judges on another thread, so that this one can serve other requests. `bytes` is the length of the body.
    pub(super) async fn offload_rules(
        &self,
        ctx: &mut Context,
        bytes: usize,
        judge: impl FnOnce(&mut Run, &mut RuleWatch) + Send + 'static,
    ) -> Result<()> {
        let Some(mut rules) = ctx.rules.take() else { return Ok(()) };
        let judging = self.away(ctx, bytes, move |watch| {
            judge(&mut rules, watch);
            rules
        });
        let (rules, watch, spent) = judging.await?;
        ctx.rules = Some(rules);
        self.rules_ran(ctx, &watch, spent)
    }

    /// Does something on another thread under a watch, which is to be handed to `rules_ran` with the time spent.
    ///
    /// # Errors
    /// If it panicked.
    pub(super) async fn away<T: Send + 'static>(
        &self,
        ctx: &mut Context,
        bytes: usize,
        work: impl FnOnce(&mut RuleWatch) -> T + Send + 'static,
    ) -> Result<(T, RuleWatch, Duration)> {
        let time = self.rule_time(ctx);
        let away = self.offload.run(bytes, move || {
            let mut watch = RuleWatch::start(&time);
            let done = work(&mut watch);
            let spent = watch.started.elapsed();
            (done, watch, spent)
        });
        // Whoever fails to judge a request must not let it pass.
        match away.await {
            Some(done) => Ok(done),
            None => refuse(ctx, Refusal::Internal),
        }
    }

    fn rule_time(&self, ctx: &Context) -> RuleTime {
        let limit = ctx.snapshot.limits.rules_time;
        let left = (!limit.is_zero()).then(|| limit.saturating_sub(ctx.rules_time));
        RuleTime { clock: self.clock, left, is_sampled: ctx.times_rules }
    }

    pub(super) fn rules_ran(&self, ctx: &mut Context, watch: &RuleWatch, spent: Duration) -> Result<()> {
        ctx.rules_time += spent;
        if let Some(costs) = &watch.costs {
            self.events.metrics().rule_costs.record(costs);
        }
        self.decide(ctx)?;
        if let (true, Some((rule, _))) = (watch.expired, watch.running) {
            let microseconds = u64::try_from(ctx.rules_time.as_micros()).unwrap_or(u64::MAX);
            self.events.emit(&RulesUnfinished { ray: &ctx.ray, rule: rule.to_string(), microseconds });
            if ctx.snapshot.limits.rules_time_policy == RulesTimePolicy::Block {
                return refuse(ctx, Refusal::RulesTime);
            }
        }
        Ok(())
    }
}
