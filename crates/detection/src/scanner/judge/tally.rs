//! Which findings of a body are reported: of those of one rule that overlap the first and longest, and no more than so
//! many.

use crate::scanner::Detection;

/// Most findings of one rule in a body: what comes behind is neither reported nor looked for.
pub const MAX_FINDINGS_OF_RULE: usize = 1_000;

/// By rule: where its last reported finding ends, and how many are reported.
#[derive(Debug)]
pub struct Tally(Vec<(usize, usize)>);

impl Tally {
    pub fn new(rules: usize) -> Self {
        Self(vec![(0, 0); rules])
    }

    /// Whether a finding is reported, and counts it; findings come in the order of their places.
    pub fn is_told(&mut self, finding: &Detection) -> bool {
        let Some((end, count)) = self.0.get_mut(finding.rule) else { return false };
        let told = finding.start >= *end && *count < MAX_FINDINGS_OF_RULE;
        if told {
            (*end, *count) = (finding.end, *count + 1);
        }
        told
    }

    /// Whether the limit of findings of a rule is reached.
    #[inline]
    pub fn is_full(&self, rule: usize) -> bool {
        self.0.get(rule).is_some_and(|(_, count)| *count >= MAX_FINDINGS_OF_RULE)
    }
}

/// The reported findings, in the order of their places and rules.
pub fn told(mut found: Vec<Detection>, rules: usize) -> Vec<Detection> {
    // What overlaps two chunks, or stands in a region, is not in its place yet.
    found.sort_by_key(Detection::longest_first);
    let mut tally = Tally::new(rules);
    found.retain(|finding| tally.is_told(finding));
    found.chunk_by_mut(|one, next| one.start == next.start).for_each(<[Detection]>::sort);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confidence::Confidence;

    #[test]
    fn of_findings_that_overlap_the_first_and_longest_is_told() {
        let finding = |rule, start, end| Detection { start, end, rule, confidence: Confidence::High };
        let found = vec![
            finding(0, 9, 12),
            finding(0, 4, 6),
            finding(1, 4, 5),
            finding(0, 4, 10),
            finding(0, 12, 13),
        ];
        let expected = [finding(0, 4, 10), finding(1, 4, 5), finding(0, 12, 13)];
        let mut told = told(found, 2);
        told.sort_by_key(|finding| (finding.start, finding.rule));
        assert_eq!(told, expected);
    }

    #[test]
    fn a_rule_is_full_where_no_more_is_told() {
        let mut tally = Tally::new(2);
        let mut told = 0;
        for start in 0..3 * MAX_FINDINGS_OF_RULE {
            assert_eq!(tally.is_full(0), told == MAX_FINDINGS_OF_RULE);
            // Every second overlaps the one before.
            let finding = Detection { start, end: start + 2, rule: 0, confidence: Confidence::Low };
            told += usize::from(tally.is_told(&finding));
        }
        assert_eq!(told, MAX_FINDINGS_OF_RULE);
        assert!(tally.is_full(0) && !tally.is_full(1) && !tally.is_full(2));
    }
}
