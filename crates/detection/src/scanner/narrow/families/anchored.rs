//! `anchor`: rules that begin at a place which is found by what it is.

use super::Family;
use crate::rule::{Anchor, Rule};
use crate::scanner::judge::Judge;

/// The rules of one anchor.
#[derive(Debug)]
pub(crate) struct AnchoredRules {
    anchor: Anchor,
    rules: Vec<usize>,
}

impl AnchoredRules {
    pub(super) fn new(anchor: Anchor) -> Self {
        Self { anchor, rules: Vec::new() }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.rules.iter().copied()
    }

    /// Tries all rules at a place.
    #[inline]
    pub(super) fn at(&self, judge: &mut Judge<'_>, body: &[u8], start: usize) {
        self.iter().for_each(|rule| judge.pattern(rule, body, start, None));
    }
}

impl Family for AnchoredRules {
    fn enter(&mut self, index: usize, rule: &Rule) -> Result<(), String> {
        self.rules.extend((rule.begins.anchor == Some(self.anchor)).then_some(index));
        Ok(())
    }
}
