//! All rules by what they may begin with, ready to scan.

use std::sync::atomic::{AtomicU64, Ordering};

use super::judge::keyword::{Entries, Keywords};
use super::narrow::families::Families;
use crate::rule::{Rule, RuleFile};
use pattern::LazyPattern;

/// All rules, ready to scan.
#[derive(Debug)]
pub struct Detector {
    /// Tells it from every other in this process.
    number: u64,
    pub(super) rules: Vec<Rule>,
    pub(super) families: Families,
    pub(super) keywords: Keywords,
}

impl Detector {
    /// Makes a detector; a rule that no family takes is named by its index, with the reason.
    pub(crate) fn new(rules: Vec<Rule>) -> (Self, Vec<(usize, String)>) {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (mut families, mut keywords) = (Families::default(), Entries::default());
        let mut refused = Vec::new();
        for (index, rule) in rules.iter().enumerate() {
            let entered = families.all().into_iter().try_for_each(|family| family.enter(index, rule));
            let entered =
                entered.and_then(|()| rule.keywords.iter().try_for_each(|text| keywords.add(text, index)));
            refused.extend(entered.err().map(|message| (index, message)));
        }
        families.all().into_iter().for_each(|family| family.build());
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        (Self { number, rules, families, keywords: Keywords::new(keywords) }, refused)
    }

    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    pub(crate) fn forget_compiled(&mut self) {
        self.rules.iter_mut().filter_map(|rule| rule.pattern.as_mut()).for_each(LazyPattern::forget);
    }

    /// What of a rule's own examples does not hold.
    pub(crate) fn failed_examples(&self, rule: usize, file: &RuleFile) -> Vec<String> {
        let reports = |text: &str| !self.scan(text.as_bytes(), &|other| other == rule).detections.is_empty();
        let missed = file
            .examples
            .iter()
            .filter(|text| !reports(text))
            .map(|text| format!("it misses its example `{text}`"));
        let false_alarms = file
            .counter_examples
            .iter()
            .filter(|text| reports(text))
            .map(|text| format!("it reports its counter-example `{text}`"));
        missed.chain(false_alarms).collect()
    }
}
