//! `number_behind`: characters that a number stands right behind; the pattern begins with one of them.

use super::Family;
use crate::rule::Rule;
use crate::scanner::judge::{Begins, Judge};

/// By the byte before a number.
#[derive(Debug, Default)]
pub(crate) struct SignedNumberRules(Vec<(u8, usize)>);

impl Family for SignedNumberRules {
    fn enter(&mut self, index: usize, rule: &Rule) -> Result<(), String> {
        let bytes = rule.begins.number_behind.iter().filter_map(|sign| u8::try_from(*sign).ok());
        self.0.extend(bytes.map(|byte| (byte, index)));
        Ok(())
    }
}

impl SignedNumberRules {
    /// The last rule that found a value.
    #[inline]
    pub(in crate::scanner) fn at(&self, judge: &mut Judge<'_>, body: &[u8], at: usize) -> Option<usize> {
        let sign = at.checked_sub(1)?;
        let before = body.get(sign);
        let mut found = None;
        for (_, rule) in self.0.iter().filter(|(byte, _)| Some(byte) == before) {
            if judge.pattern_from(*rule, body, sign, Begins::Here, None) {
                found = Some(*rule);
            }
        }
        found
    }
}
