//! Judge: one rule at one place of a body. Its pattern stands there, in a bounded window, at the borders of words; its
//! check digits are right; what stands around it does not speak against it.

pub(crate) mod keyword;
mod lookalike;
mod member;
pub(crate) mod table;
pub(crate) mod tally;
mod words;

use super::find::literals::Literals;
use super::{Detection, Detector};
use crate::rule::Rule;
use keyword::Near;
pub(super) use lookalike::{has_joint, is_behind_sign, is_date_or_fraction, is_timestamp, is_whole};
use table::Values;
use tally::Tally;

/// What the patterns of all rules may look at in a body, for each of its bytes, and in any case: past it no
/// pattern is tried.
const BUDGET_PER_BYTE: usize = 10;
const BUDGET_BYTES: usize = 1 << 20;
/// What a try costs beside the bytes of its window.
const TRY_BYTES: usize = 64;

/// Where a value may begin that is looked for at a place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Begins {
    /// There, or up to the rule's `before_bytes` before it.
    Before,
    Here,
}

/// The words before a value.
pub(super) enum ValueWords<'w> {
    Read(&'w Near),
    /// Of a number, for all of its groups: read when the first of them asks.
    OfNumber(&'w mut Option<Near>),
    /// Read for this value, without the header above it: values of this kind come in no order.
    Unread,
}

impl<'w> From<Option<&'w Near>> for ValueWords<'w> {
    fn from(near: Option<&'w Near>) -> Self {
        near.map_or(Self::Unread, Self::Read)
    }
}

/// What judges a body, and what was found in the chunk at hand.
pub(crate) struct Judge<'d> {
    pub(super) detector: &'d Detector,
    enabled: &'d dyn Fn(usize) -> bool,
    found: Vec<Detection>,
    /// Of the body, not of its regions, which stand among what was found before.
    tally: Tally,
    /// Bytes that patterns may still look at.
    budget_bytes: usize,
    values: Values,
}

impl<'d> Judge<'d> {
    pub(super) fn new(detector: &'d Detector, enabled: &'d dyn Fn(usize) -> bool, body: &[u8]) -> Self {
        Self {
            detector,
            enabled,
            found: Vec::new(),
            tally: Tally::new(detector.rules().len()),
            budget_bytes: BUDGET_BYTES + BUDGET_PER_BYTE * body.len(),
            values: Values::of(body, &detector.keywords),
        }
    }

    #[inline]
    pub(super) fn literals(&self) -> &'d Literals {
        self.detector.families.literals()
    }

    /// Reads the headers of the HTML tables from `from` on.
    pub(super) fn read_html(&mut self, body: &[u8], from: usize) {
        self.values.read_html(body, from, &self.detector.keywords);
    }

    /// Hands over what was found in a chunk, of a body only what may be reported.
    pub(super) fn end_chunk(&mut self, is_body: bool, found: &mut Vec<Detection>) {
        // Found kind by kind; few are put in order sooner than many.
        self.found.sort_by_key(Detection::longest_first);
        if is_body {
            self.found.retain(|found| self.tally.is_told(found) || !self.tally.is_full(found.rule));
        }
        found.append(&mut self.found);
    }

    pub(super) fn begin_regions(&mut self) {
        self.tally = Tally::new(self.detector.rules().len());
    }

    pub(super) fn begin_region(&mut self) {
        self.values.begin();
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.budget_bytes == 0
    }

    /// The rules that have a keyword before a value or in the header above it.
    #[inline]
    pub(super) fn near(&mut self, body: &[u8], at: usize) -> Near {
        self.values.near(&self.detector.keywords, body, at)
    }

    /// Returns a rule if it is enabled and may report more. Shapes with a keyword are tried without asking, because what
    /// they find keeps other rules of the same shape from reporting.
    #[inline]
    pub(super) fn wanted(&self, index: usize) -> Option<&'d Rule> {
        let rule = self.detector.rules.get(index)?;
        ((self.enabled)(index) && !self.tally.is_full(index)).then_some(rule)
    }

    /// The place of the finding that was made last.
    #[inline]
    pub(super) fn last_finding(&self) -> usize {
        self.found.len().saturating_sub(1)
    }

    pub(super) fn finding_end(&self, nth: usize) -> Option<usize> {
        self.found.get(nth).map(|found| found.end)
    }

    pub(super) fn take_back(&mut self, nth: usize) {
        if nth < self.found.len() {
            self.found.remove(nth);
        }
    }

    /// One rule, from one place: pattern, boundaries, value.
    #[inline]
    pub(super) fn pattern(&mut self, index: usize, body: &[u8], place: usize, near: Option<&Near>) {
        self.pattern_from(index, body, place, Begins::Before, near);
    }

    /// The same, and whether a value was found.
    #[inline]
    pub(super) fn pattern_from(
        &mut self,
        index: usize,
        body: &[u8],
        place: usize,
        begins: Begins,
        near: Option<&Near>,
    ) -> bool {
        let Some(rule) = self.wanted(index) else { return false };
        if !body.get(place).is_some_and(|byte| rule.first.has(*byte)) {
            return false;
        }
        let Some(pattern) = &rule.pattern else { return false };
        let from = place.saturating_sub(rule.before_bytes);
        let to = body.len().min(place + rule.max_bytes);
        let Some(window) = body.get(from..to) else { return false };
        self.budget_bytes = self.budget_bytes.saturating_sub(window.len() + TRY_BYTES);
        if self.budget_bytes == 0 {
            return false;
        }
        if matches!(begins, Begins::Here) || from == place {
            let Some((span, group)) = pattern.match_at(window, place - from) else { return false };
            let (start, end) = group.unwrap_or(span);
            return is_whole(body, from + start, from + end)
                && self.value(index, body, from + start, from + end, near.into());
        }
        let Some(pattern) = pattern.get() else { return false };
        let mut search = 0;
        while let Some((start, end)) = pattern.find_at(window, search) {
            let (start, end) = (from + start, from + end);
            if start > place {
                return false;
            }
            if end > place && is_whole(body, start, end) && self.value(index, body, start, end, near.into()) {
                return true;
            }
            search = start - from + 1;
        }
        false
    }

    /// What is left of a value: its checks.
    #[inline]
    pub(super) fn value(
        &mut self,
        index: usize,
        body: &[u8],
        start: usize,
        end: usize,
        words: ValueWords<'_>,
    ) -> bool {
        let detector = self.detector;
        let Some(rule) = detector.rules.get(index).filter(|_| (self.enabled)(index)) else { return false };
        let Some(value) = body.get(start..end) else { return false };
        let valid =
            rule.validator.is_none_or(|validator| (validator.validate)(value)) && rule.is_random(value);
        if valid {
            let raised = !rule.keywords.is_empty()
                && match words {
                    ValueWords::Read(near) => near.contains(index),
                    ValueWords::OfNumber(near) => {
                        near.get_or_insert_with(|| self.near(body, start)).contains(index)
                    }
                    ValueWords::Unread => {
                        self.values.near_other(&detector.keywords, body, start).contains(index)
                    }
                };
            let confidence = if raised { rule.confidence.raised() } else { rule.confidence };
            let judged = match rule.surroundings {
                Some(surroundings) => surroundings.judge(body, start, end, raised, confidence),
                None => Some(confidence),
            };
            let Some(confidence) = judged else { return false };
            self.found.push(Detection { start, end, rule: index, confidence });
        }
        valid
    }
}
