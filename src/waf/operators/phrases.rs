//! The multi-phrase search behind `@pm` and `@pmFromFile`.

use aho_corasick::AhoCorasick;

use super::{Compiled, Found, Test};
use crate::waf::matcher::Transaction;

struct Phrases(AhoCorasick);

/// One pass for all phrases, without regard to ASCII case.
pub(super) fn compile(phrases: &[&str]) -> Compiled {
    if phrases.is_empty() {
        return Err("expected at least one phrase to look for".to_owned());
    }
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(phrases)
        .map(|automaton| Box::new(Phrases(automaton)) as Box<dyn Test>)
        .map_err(|error| format!("the phrases cannot be compiled: {error}"))
}

impl Test for Phrases {
    fn is_match(&self, input: &[u8], _: &Transaction) -> bool {
        self.0.is_match(input)
    }

    fn locate(&self, input: &[u8], _: &Transaction) -> Found {
        self.0.find(input).map_or_else(|| Found::whole(input), |m| Found::span((m.start(), m.end())))
    }
}
