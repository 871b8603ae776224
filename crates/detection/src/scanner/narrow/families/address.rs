//! `anchor: address`: the local part of an address, an `@` behind it (RFC 5322 section 3.4.1, without quoted forms).

use super::Family;
use crate::rule::{Anchor, Rule};
use crate::scanner::judge::Judge;
use pattern::ByteSet;

/// What stands before the `@` of an address.
const LOCAL_PART: ByteSet = ByteSet::of(b"._%+-'").and(b'a', b'z').and(b'A', b'Z').and(b'0', b'9');

#[derive(Debug, Default)]
pub(crate) struct AddressRules(Vec<usize>);

impl Family for AddressRules {
    fn enter(&mut self, index: usize, rule: &Rule) -> Result<(), String> {
        self.0.extend((rule.begins.anchor == Some(Anchor::Address)).then_some(index));
        Ok(())
    }
}

impl AddressRules {
    /// At an `@` with `before` in front of it.
    #[inline]
    pub(in crate::scanner) fn at(&self, judge: &mut Judge<'_>, body: &[u8], before: &[u8], at: usize) {
        let start = at - before.iter().rev().take_while(|byte| LOCAL_PART.has(**byte)).count();
        self.0.iter().for_each(|rule| judge.pattern(*rule, body, start, None));
    }
}
