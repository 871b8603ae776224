//! What each rule costs on a request.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use super::{EntryPoint, Request, judge};
use crate::clock::{Clock, Stopwatch};
use crate::events::RuleCost;
use crate::waf::Program;
use crate::waf::Watch;

/// How often the request is judged; the first tenth warms up.
const ROUNDS: u32 = 500;
/// Rules shown.
const SHOWN: usize = 20;

/// Sums up the time of every rule.
#[derive(Default)]
struct Profile {
    costs: BTreeMap<u64, RuleCost>,
    running: Option<Stopwatch>,
}

impl Watch for Profile {
    fn begins(&mut self, _: u64) -> bool {
        self.running = Some(Clock::real().start());
        true
    }

    fn ends(&mut self, rule: u64, matched: bool) {
        let time = self.running.map_or(Duration::ZERO, Stopwatch::elapsed);
        RuleCost { rule, time, hits: u64::from(matched) }.add_to(&mut self.costs);
    }
}

/// A table of the dearest rules.
pub(super) fn profile(entry_point: &EntryPoint, program: &Program, request: &Request<'_>) -> String {
    let mut profile = Profile::default();
    for round in 0..ROUNDS + ROUNDS / 10 {
        if round == ROUNDS / 10 {
            profile.costs.clear();
        }
        judge(entry_point, request, &mut profile);
    }
    let started = Clock::real().start();
    (0..ROUNDS).for_each(|_| drop(judge(entry_point, request, &mut ())));
    let whole = micros(started.elapsed());
    let mut costs: Vec<RuleCost> = profile.costs.into_values().collect();
    costs.sort_by_key(|cost| std::cmp::Reverse(cost.time));
    let total: Duration = costs.iter().map(|cost| cost.time).sum();
    let mut text = format!(
        "{whole:.1} µs a request, {} rules asked; timed one by one they take {:.1} µs:\n\n   µs  share  rule\n",
        costs.len(),
        micros(total)
    );
    for cost in costs.iter().take(SHOWN) {
        let share = 100.0 * cost.time.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
        let message =
            program.roots().iter().find(|root| root.id == cost.rule).map_or("", |root| &root.meta.msg_text);
        let hit = if cost.hits > 0 { " (matched)" } else { "" };
        // INVARIANT: writing to a `String` cannot fail.
        let _ = writeln!(text, "{:>5.2} {share:>5.1}%  {} {message}{hit}", micros(cost.time), cost.rule);
    }
    text.push_str("\nWhat is learnt of a value falls to the rule that asks first; reading the clock costs each rule some 0.05 µs.\n");
    text
}

/// Of one round.
fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6 / f64::from(ROUNDS)
}
