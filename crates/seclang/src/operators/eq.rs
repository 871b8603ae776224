//! The value as a number equals the argument; text without digits is 0.

use super::{Argument, Compiled, Definition, Example, comparison};

pub(super) const DEFINITION: Definition = Definition {
    name: "eq",
    summary: "The value as a number equals the argument; text without digits is 0.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "5", input: b"5", matches: true },
        Example { argument: "5", input: b"4", matches: false },
    ],
};

fn compile(argument: &mut Argument<'_>) -> Compiled {
    comparison::compile(argument, i64::eq)
}
