//! One of the words stands somewhere in the value, ignoring case.

use super::{Argument, Compiled, Definition, Example, phrases};

pub(super) const DEFINITION: Definition = Definition {
    name: "pm",
    summary: "One of the words stands somewhere in the value, whatever its case.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "union select", input: b"1 UNION 2", matches: true },
        Example { argument: "union", input: b"onion", matches: false },
    ],
};

fn compile(argument: &mut Argument<'_>) -> Compiled {
    phrases::compile(argument, phrases::words(argument.text))
}
