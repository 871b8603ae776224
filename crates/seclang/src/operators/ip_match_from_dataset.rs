//! The value is an address of one of the networks of a `SecDataset`.

use super::{Argument, Compiled, Definition, networks};

pub(super) const DEFINITION: Definition = Definition {
    name: "ipMatchFromDataset",
    summary: "The value is an address of one of the networks of a `SecDataset`.",
    reads_file: true,
    compile,
    examples: &[],
};

fn compile(argument: &mut Argument<'_>) -> Compiled {
    networks::compile(argument.lines.iter().map(String::as_str))
}
