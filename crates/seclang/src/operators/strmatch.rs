//! The argument stands somewhere in the value; the same as `contains`.

use super::{Argument, Compiled, Definition, Example, contains};

pub(super) const DEFINITION: Definition = Definition {
    name: "strmatch",
    summary: "The argument stands somewhere in the value; the same as `contains`.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "bc", input: b"abcd", matches: true },
        Example { argument: "bc", input: b"acb", matches: false },
    ],
};

fn compile(argument: &mut Argument<'_>) -> Compiled {
    contains::compile(argument)
}
