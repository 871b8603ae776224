//! The scanner: one pass for anchors, rules tried only round them.

use aho_corasick::{AhoCorasick, MatchKind};

use super::rule::{Anchor, Confidence, Rule, RuleFile};

/// All rules, ready to scan.
#[derive(Debug)]
pub struct Detector {
    rules: Vec<Rule>,
    literals: Option<AhoCorasick>,
    /// For each literal: the rule it belongs to.
    literal_rules: Vec<usize>,
    digit_rules: Vec<usize>,
    country_rules: Vec<usize>,
}

/// Something found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Detection {
    /// Bytes of the body.
    pub start: usize,
    pub end: usize,
    /// Index in the detector's rules.
    pub rule: usize,
    pub confidence: Confidence,
}

impl Detector {
    pub(super) fn new(rules: Vec<Rule>) -> Self {
        let mut detector = Self {
            rules: Vec::new(),
            literals: None,
            literal_rules: Vec::new(),
            digit_rules: Vec::new(),
            country_rules: Vec::new(),
        };
        let mut texts: Vec<&str> = Vec::new();
        for (index, rule) in rules.iter().enumerate() {
            match &rule.anchor {
                Anchor::Literals(literals) => {
                    texts.extend(literals.iter().map(String::as_str));
                    detector.literal_rules.extend(literals.iter().map(|_| index));
                }
                Anchor::Digits => detector.digit_rules.push(index),
                Anchor::CountryAndCheckDigits => detector.country_rules.push(index),
            }
        }
        // Too many literals would be the only reason to fail; without an automaton the literal
        // rules find nothing, and their examples fail at load.
        detector.literals = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&texts).ok();
        detector.rules = rules;
        detector
    }

    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Everything `enabled` rules find, sorted by place.
    pub fn scan(&self, body: &[u8], enabled: &dyn Fn(usize) -> bool) -> Vec<Detection> {
        let mut found = Vec::new();
        if let Some(literals) = &self.literals {
            for hit in literals.find_overlapping_iter(body) {
                let rule = self.literal_rules.get(hit.pattern().as_usize()).copied();
                found.extend(
                    rule.filter(|rule| enabled(*rule)).and_then(|rule| self.try_at(rule, body, hit.start())),
                );
            }
        }
        self.digits(body, enabled, &mut found);
        found.sort_unstable();
        found.dedup_by(|later, first| later.rule == first.rule && later.start < first.end);
        found
    }

    /// Tries the rules whose anchors are runs of digits.
    fn digits(&self, body: &[u8], enabled: &dyn Fn(usize) -> bool, found: &mut Vec<Detection>) {
        let mut at = 0;
        while let Some(start) =
            body.get(at..).and_then(|rest| rest.iter().position(u8::is_ascii_digit)).map(|n| at + n)
        {
            let country = start.checked_sub(2).filter(|from| {
                body.get(*from..start).is_some_and(|letters| letters.iter().all(u8::is_ascii_uppercase))
            });
            if let Some(from) = country.filter(|from| is_boundary(body, *from)) {
                found.extend(
                    self.country_rules
                        .iter()
                        .filter(|r| enabled(**r))
                        .filter_map(|r| self.try_at(*r, body, from)),
                );
            }
            if is_boundary(body, start) {
                found.extend(
                    self.digit_rules
                        .iter()
                        .filter(|r| enabled(**r))
                        .filter_map(|r| self.try_at(*r, body, start)),
                );
            }
            at = start + body.get(start..).map_or(0, run_length).max(1);
        }
    }

    /// One rule, from one place: pattern, boundary, validator.
    fn try_at(&self, index: usize, body: &[u8], start: usize) -> Option<Detection> {
        let rule = self.rules.get(index)?;
        let end = body.len().min(start + rule.max_bytes);
        let window = body.get(start..end)?;
        let (_, length) = rule.pattern.find(window)?;
        let end = start + length;
        let ends =
            body.get(end).is_none_or(|next| !next.is_ascii_alphanumeric() || !is_word(body.get(end - 1)));
        let sound = ends && (is_boundary(body, start) || !is_word(body.get(start)));
        let value = body.get(start..end)?;
        let valid = rule.validator.is_none_or(|validator| (validator.validate)(value));
        (sound && valid).then_some(Detection { start, end, rule: index, confidence: rule.confidence })
    }

    /// What of a rule's own examples does not hold.
    pub(super) fn failed_examples(&self, file: &RuleFile) -> Vec<String> {
        let reports = |text: &str| {
            let found = self.scan(text.as_bytes(), &|_| true);
            found.iter().any(|d| self.rules.get(d.rule).is_some_and(|rule| rule.id == file.id))
        };
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

fn is_word(byte: Option<&u8>) -> bool {
    byte.is_some_and(u8::is_ascii_alphanumeric)
}

/// Whether no word character stands before `at`; nor a digit and a point, as in a decimal.
fn is_boundary(body: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| body.get(at));
    let decimal = before == Some(&b'.')
        && at.checked_sub(2).and_then(|at| body.get(at)).is_some_and(u8::is_ascii_digit);
    !is_word(before) && !decimal
}

/// Digits with single spaces or hyphens between them.
fn run_length(text: &[u8]) -> usize {
    let mut length = 0;
    let mut bytes = text.iter().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'0'..=b'9' => length = at + 1,
            b' ' | b'-' if bytes.peek().is_some_and(|(_, next)| next.is_ascii_digit()) => {}
            _ => break,
        }
    }
    length
}
