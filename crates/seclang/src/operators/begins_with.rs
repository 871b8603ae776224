//! The value begins with the argument.

use super::{Argument, Compiled, Definition, Example, Expansion, Test};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "beginsWith",
    summary: "The value begins with the argument.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "ab", input: b"abc", matches: true },
        Example { argument: "ab", input: b"cab", matches: false },
    ],
};

struct BeginsWith(Expansion);

fn compile(argument: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(BeginsWith(argument.expansion()?)))
}

impl Test for BeginsWith {
    fn is_match(&self, input: &[u8], data: &Data) -> bool {
        self.0.with(data, |wanted| input.starts_with(wanted))
    }
}
