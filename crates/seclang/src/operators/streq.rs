//! The value is the argument, byte for byte.

use super::{Argument, Compiled, Definition, Example, Expansion, Test};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "streq",
    summary: "The value is the argument, byte for byte.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "ab", input: b"ab", matches: true },
        Example { argument: "ab", input: b"AB", matches: false },
    ],
};

struct StrEq(Expansion);

fn compile(argument: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(StrEq(argument.expansion()?)))
}

impl Test for StrEq {
    fn is_match(&self, input: &[u8], data: &Data) -> bool {
        self.0.with(data, |wanted| input == wanted)
    }
}
