//! What the operators have in common that ask a recogniser of a language.

use super::memo::Memo;
use super::{Found, Prefilter, Test};
use crate::data::Data;
use crate::grammars::{Finding, Strength};
use pattern::ByteSet;

/// As much of an injection is shown as says what it is.
const SHOWN_BYTES: usize = 80;

type Recognize = fn(&[u8]) -> Option<Finding>;

/// What a thread knows of the last values; each recogniser has its own.
pub(super) type Findings = Memo<Option<Finding>>;

/// A recogniser, and how sure it must be.
pub(super) struct Recognizer {
    at_least: Strength,
    judge: Recognize,
    /// None if a word alone can be found.
    condition: Option<Prefilter>,
}

impl Recognizer {
    /// Of an operator's argument; `marks` are bytes of which every injection holds one that is more than
    /// possible.
    pub(super) fn new(strength: &str, judge: Recognize, marks: ByteSet) -> Result<Self, String> {
        let at_least = Strength::parse(strength)?;
        let condition = (at_least > Strength::Possible).then(|| Prefilter::any_of(marks));
        Ok(Self { at_least, judge, condition })
    }
}

impl Test for Recognizer {
    fn is_match(&self, input: &[u8], _: &Data) -> bool {
        (self.judge)(input).is_some_and(|found| found.strength >= self.at_least)
    }

    fn locate(&self, input: &[u8], _: &Data) -> Found {
        let from = (self.judge)(input).map_or(0, |found| found.from);
        Found::span((from, input.len().min(from + SHOWN_BYTES)))
    }

    fn prefilter(&self) -> Option<&Prefilter> {
        self.condition.as_ref()
    }
}
