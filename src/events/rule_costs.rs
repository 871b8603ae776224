//! What rules cost, of a sample of requests: the slowest and those that match most.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use parking_lot::Mutex;
use prometheus::{GaugeVec, IntCounter};

/// Rules shown by time, and as many by hits.
const SHOWN: usize = 10;

/// What one rule cost, summed up over those who asked it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleCost {
    pub rule: u64,
    pub time: Duration,
    pub hits: u64,
}

impl RuleCost {
    /// Adds it to what the same rule cost before.
    pub fn add_to(self, by_rule: &mut BTreeMap<u64, Self>) {
        let sum = by_rule.entry(self.rule).or_insert(Self { time: Duration::ZERO, hits: 0, ..self });
        sum.time += self.time;
        sum.hits += self.hits;
    }
}

/// The costs of all rules since the start. There are as many as rules, whoever sends what.
pub struct RuleCosts {
    by_rule: Mutex<BTreeMap<u64, RuleCost>>,
    pub(super) seconds: GaugeVec,
    pub(super) hits: GaugeVec,
    pub(super) parts: IntCounter,
}

impl RuleCosts {
    pub(super) fn new(seconds: GaugeVec, hits: GaugeVec, parts: IntCounter) -> Self {
        Self { by_rule: Mutex::default(), seconds, hits, parts }
    }

    /// Adds what the rules of one part of a request cost.
    pub fn record(&self, costs: &[RuleCost]) {
        self.parts.inc();
        let mut by_rule = self.by_rule.lock();
        costs.iter().for_each(|cost| cost.add_to(&mut by_rule));
    }

    /// Puts the first of both lists into the metrics.
    pub(super) fn show(&self) {
        let mut costs: Vec<RuleCost> = self.by_rule.lock().values().copied().collect();
        costs.sort_by_key(|cost| std::cmp::Reverse(cost.time));
        let mut shown: BTreeSet<u64> = costs.iter().take(SHOWN).map(|cost| cost.rule).collect();
        costs.sort_by_key(|cost| std::cmp::Reverse(cost.hits));
        shown.extend(costs.iter().take(SHOWN).filter(|cost| cost.hits > 0).map(|cost| cost.rule));
        self.seconds.reset();
        self.hits.reset();
        for cost in costs.iter().filter(|cost| shown.contains(&cost.rule)) {
            let rule = cost.rule.to_string();
            self.seconds.with_label_values(&[&rule]).set(cost.time.as_secs_f64());
            #[expect(clippy::cast_precision_loss, reason = "hits are few")]
            self.hits.with_label_values(&[&rule]).set(cost.hits as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::Opts;

    #[test]
    fn the_slowest_and_those_that_match_are_shown() {
        let gauges = |name: &str| GaugeVec::new(Opts::new(name, "x"), &["rule"]).unwrap();
        let (seconds, hits) = (gauges("a"), gauges("b"));
        let costs = RuleCosts::new(seconds.clone(), hits.clone(), IntCounter::new("c", "x").unwrap());
        let cost = |rule, micros, hits| RuleCost { rule, time: Duration::from_micros(micros), hits };
        for round in 0..3 {
            costs.record(
                &(1..=50).map(|rule| cost(rule, rule, u64::from(rule == 3 && round > 0))).collect::<Vec<_>>(),
            );
        }
        for _ in 0..2 {
            costs.show();
            use prometheus::core::Collector;
            assert_eq!(seconds.collect()[0].get_metric().len(), SHOWN + 1);
            assert!((seconds.with_label_values(&["50"]).get() - 0.000_15).abs() < 1e-9);
            assert!((hits.with_label_values(&["3"]).get() - 2.0).abs() < 1e-9);
        }
        assert_eq!(costs.parts.get(), 3);
    }
}
