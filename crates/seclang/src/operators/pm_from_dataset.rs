//! One of the lines of a `SecDataset` stands somewhere in the value, ignoring case.

use super::{Argument, Compiled, Definition, phrases};

pub(super) const DEFINITION: Definition = Definition {
    name: "pmFromDataset",
    summary: "One of the lines of a `SecDataset` stands somewhere in the value, whatever its case.",
    reads_file: true,
    compile,
    examples: &[],
};

fn compile(argument: &mut Argument<'_>) -> Compiled {
    phrases::compile(argument, argument.lines.to_vec())
}
