//! What each rule costs on a request.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use super::{EntryPoint, Request, judge};
use crate::clock::{Clock, Stopwatch};
use crate::events::RuleCost;
use seclang::Program;
use seclang::Watch;

/// How often the request is judged at most, and for how long.
const MAX_ROUNDS: u32 = 500;
const LONGEST: Duration = Duration::from_secs(1);
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

/// A table of the slowest rules.
pub(super) fn profile(entry_point: &EntryPoint, program: &Program, request: &Request<'_>) -> String {
    let mut profile = Profile::default();
    rounds(|| drop(judge(entry_point, request, &mut Profile::default())));
    let (timed, _) = rounds(|| drop(judge(entry_point, request, &mut profile)));
    let (rounds, whole) = rounds(|| drop(judge(entry_point, request, &mut ())));
    let micros = |time: Duration, rounds: u32| time.as_secs_f64() * 1e6 / f64::from(rounds);
    let mut costs: Vec<RuleCost> = profile.costs.into_values().collect();
    costs.sort_by_key(|cost| std::cmp::Reverse(cost.time));
    let total: Duration = costs.iter().map(|cost| cost.time).sum();
    let mut text = format!(
        "{:.1} µs a request, {} rules asked; timed one by one they take {:.1} µs:\n\n   µs  share  rule\n",
        micros(whole, rounds),
        costs.len(),
        micros(total, timed)
    );
    for cost in costs.iter().take(SHOWN) {
        let share = 100.0 * cost.time.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
        let message =
            program.roots().iter().find(|root| root.id == cost.rule).map_or("", |root| &root.meta.msg_text);
        let hit = if cost.hits > 0 { " (matched)" } else { "" };
        // INVARIANT: writing to a `String` cannot fail.
        let _ =
            writeln!(text, "{:>5.2} {share:>5.1}%  {} {message}{hit}", micros(cost.time, timed), cost.rule);
    }
    text.push_str("\nWhat is learnt of a value falls to the rule that asks first; reading the clock costs each rule some 0.05 µs.\n");
    text
}

/// Does something again and again; how often, and how long that took.
fn rounds(mut once: impl FnMut()) -> (u32, Duration) {
    let started = Clock::real().start();
    let mut done = 0;
    while done == 0 || (done < MAX_ROUNDS && started.elapsed() < LONGEST) {
        once();
        done += 1;
    }
    (done, started.elapsed())
}
