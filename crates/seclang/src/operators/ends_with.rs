//! The value ends with the argument.

use super::{Argument, Compiled, Definition, Example, Expansion, Test};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "endsWith",
    summary: "The value ends with the argument.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "bc", input: b"abc", matches: true },
        Example { argument: "ab", input: b"abc", matches: false },
    ],
};

struct EndsWith(Expansion);

fn compile(argument: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(EndsWith(argument.expansion()?)))
}

impl Test for EndsWith {
    fn is_match(&self, input: &[u8], data: &Data) -> bool {
        self.0.with(data, |wanted| input.ends_with(wanted))
    }
}
