//! The value stands somewhere in the argument.

use super::{Argument, Compiled, Definition, Example, Expansion, Test};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "within",
    summary: "The value stands somewhere in the argument.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "GET POST", input: b"GET", matches: true },
        Example { argument: "GET POST", input: b"PUT", matches: false },
        Example { argument: "GET", input: b"", matches: true },
    ],
};

struct Within(Expansion);

fn compile(argument: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(Within(argument.expansion()?)))
}

impl Test for Within {
    fn is_match(&self, input: &[u8], data: &Data) -> bool {
        self.0.with(data, |wanted| memchr::memmem::find(wanted, input).is_some())
    }
}
