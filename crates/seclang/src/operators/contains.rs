//! The argument stands somewhere in the value.

use super::{Argument, Compiled, Definition, Example, Expansion, Found, Test};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "contains",
    summary: "The argument stands somewhere in the value.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "bc", input: b"abcd", matches: true },
        Example { argument: "bc", input: b"acb", matches: false },
    ],
};

struct Contains(Expansion);

pub(super) fn compile(argument: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(Contains(argument.expansion()?)))
}

impl Test for Contains {
    fn is_match(&self, input: &[u8], data: &Data) -> bool {
        self.0.with(data, |wanted| memchr::memmem::find(input, wanted).is_some())
    }

    fn locate(&self, input: &[u8], data: &Data) -> Found {
        let at =
            self.0.with(data, |wanted| memchr::memmem::find(input, wanted).map(|at| (at, at + wanted.len())));
        at.map_or_else(|| Found::whole(input), Found::span)
    }
}
