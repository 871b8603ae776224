//! The value is an address of one of the networks in the file, one a line.

use super::{Argument, Compiled, Definition, networks};

pub(super) const DEFINITION: Definition = Definition {
    name: "ipMatchFromFile",
    summary: "The value is an address of one of the networks in the file, one a line.",
    reads_file: true,
    compile,
    examples: &[],
};

fn compile(argument: &mut Argument<'_>) -> Compiled {
    // What follows a network on its line is a comment.
    networks::compile(argument.lines.iter().filter_map(|line| line.split_whitespace().next()))
}
