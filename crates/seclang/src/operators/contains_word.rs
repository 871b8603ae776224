//! The argument stands somewhere in the value as a word of its own.

use super::{Argument, Compiled, Definition, Example, Expansion, Found, Test};
use crate::data::Data;
use pattern::Span;

pub(super) const DEFINITION: Definition = Definition {
    name: "containsWord",
    summary: "The argument stands somewhere in the value as a word of its own.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "union", input: b"1 union 2", matches: true },
        Example { argument: "union", input: b"reunion union", matches: true },
        Example { argument: "union", input: b"reunion", matches: false },
    ],
};

struct ContainsWord(Expansion);

fn compile(argument: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(ContainsWord(argument.expansion()?)))
}

impl Test for ContainsWord {
    fn is_match(&self, input: &[u8], data: &Data) -> bool {
        self.0.with(data, |word| find(input, word).is_some())
    }

    fn locate(&self, input: &[u8], data: &Data) -> Found {
        self.0.with(data, |word| find(input, word)).map_or_else(|| Found::whole(input), Found::span)
    }
}

fn find(input: &[u8], word: &[u8]) -> Option<Span> {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    memchr::memmem::find_iter(input, word).map(|at| (at, at + word.len())).find(|(start, end)| {
        let before = start.checked_sub(1).and_then(|at| input.get(at));
        !is_word(before) && !is_word(input.get(*end))
    })
}
