//! What the operators have in common that ask a recogniser of a language.

use super::{Prefilter, Test};
use crate::waf::byte_set::ByteSet;
use crate::waf::grammars::Strength;
use crate::waf::matcher::Transaction;

/// A recogniser, and how sure it must be.
pub(super) struct Recognizer {
    at_least: Strength,
    judge: fn(&[u8]) -> Option<Strength>,
    condition: Prefilter,
}

impl Recognizer {
    /// Of an operator's argument; `marks` are bytes of which every injection holds one.
    pub(super) fn new(
        strength: &str,
        judge: fn(&[u8]) -> Option<Strength>,
        marks: ByteSet,
    ) -> Result<Self, String> {
        Ok(Self { at_least: Strength::parse(strength)?, judge, condition: Prefilter::any_of(marks) })
    }
}

impl Test for Recognizer {
    fn is_match(&self, input: &[u8], _: &Transaction) -> bool {
        (self.judge)(input) >= Some(self.at_least)
    }

    fn prefilter(&self) -> Option<&Prefilter> {
        Some(&self.condition)
    }
}
