//! The multi-phrase search behind `@pm` and `@pmFromFile`.

use std::sync::Arc;

use super::patterns::PhraseSearcher;
use super::{Argument, Compiled, Found, Test};
use crate::data::Data;

struct Phrases(Arc<PhraseSearcher>);

/// One pass for all phrases, without regard to ASCII case.
pub(super) fn compile(argument: &Argument<'_>, phrases: Vec<String>) -> Compiled {
    Ok(Box::new(Phrases(argument.patterns.phrases(phrases)?)))
}

/// The words of `@pm`.
pub(super) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

impl Test for Phrases {
    fn is_match(&self, input: &[u8], _: &Data) -> bool {
        self.0.automaton.is_match(input)
    }

    fn literals(&self) -> Option<&[Vec<u8>]> {
        self.0.literals.as_deref()
    }

    fn locate(&self, input: &[u8], _: &Data) -> Found {
        self.0
            .automaton
            .find(input)
            .map_or_else(|| Found::whole(input), |m| Found::span((m.start(), m.end())))
    }
}
