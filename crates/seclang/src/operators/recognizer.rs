//! What the operators have in common that ask a recogniser of a language.

use super::memo::{MAX_VALUE_BYTES, Memo};
use super::{Found, Prefilter, Test};
use crate::data::Data;
use crate::grammars::{Finding, Question, Strength};
use pattern::ByteSet;

/// As much of an injection is shown as says what it is.
const SHOWN_BYTES: usize = 80;

type Recognize = fn(&[u8], Question<'_>) -> Option<Finding>;

/// What a thread knows of the last values; each recogniser has its own.
pub(super) type Findings = Memo<Option<Finding>>;

impl Findings {
    /// Asks a recogniser about a value that may come again.
    pub(super) fn recall(
        &self,
        value: &[u8],
        question: Question<'_>,
        recognize: Recognize,
    ) -> Option<Finding> {
        // What is kept is the answer to every question.
        let question = if value.len() > MAX_VALUE_BYTES { question } else { Question::ANY };
        self.answer(value, |value| recognize(value, question))
    }
}

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

    fn finds(&self, input: &[u8], unmatched: Option<&[u8]>) -> bool {
        let found = (self.judge)(input, Question { unmatched, at_least: self.at_least });
        found.is_some_and(|found| found.strength >= self.at_least)
    }
}

impl Test for Recognizer {
    fn is_match(&self, input: &[u8], _: &Data) -> bool {
        self.finds(input, None)
    }

    fn is_match_after(&self, input: &[u8], unmatched: &[u8], _: &Data) -> bool {
        self.finds(input, Some(unmatched))
    }

    fn locate(&self, input: &[u8], _: &Data) -> Found {
        let from = (self.judge)(input, Question::ANY).map_or(0, |found| found.from);
        Found::span((from, input.len().min(from + SHOWN_BYTES)))
    }

    fn prefilter(&self) -> Option<&Prefilter> {
        self.condition.as_ref()
    }
}
