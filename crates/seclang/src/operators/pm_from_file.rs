//! One of the file's lines stands somewhere in the value, ignoring case.

use super::{Argument, Compiled, Definition, phrases};

pub(super) const DEFINITION: Definition = Definition {
    name: "pmFromFile",
    summary: "One of the file's lines stands somewhere in the value, whatever its case.",
    reads_file: true,
    compile,
    examples: &[],
};

fn compile(argument: &mut Argument<'_>) -> Compiled {
    phrases::compile(argument, argument.lines.to_vec())
}
