//! `token_bytes`: tokens of these lengths with a digit in them.

use super::Family;
use crate::rule::Rule;
use crate::scanner::judge::Judge;

/// By the length of a token, in bytes.
#[derive(Debug, Default)]
pub(crate) struct TokenLengthRules(Vec<(usize, usize)>);

impl Family for TokenLengthRules {
    fn enter(&mut self, index: usize, rule: &Rule) -> Result<(), String> {
        self.0.extend(rule.begins.token_bytes.iter().map(|bytes| (*bytes, index)));
        Ok(())
    }
}

impl TokenLengthRules {
    #[inline]
    pub(in crate::scanner) fn at(&self, judge: &mut Judge<'_>, body: &[u8], start: usize, bytes: usize) {
        for (_, rule) in self.0.iter().filter(|(other, _)| *other == bytes) {
            judge.pattern(*rule, body, start, None);
        }
    }
}
