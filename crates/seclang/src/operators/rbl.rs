//! Whether a block list names an address; nothing is looked up in the DNS here, so it never matches.

use super::{Argument, Compiled, Definition, Example, no_match};

pub(super) const DEFINITION: Definition = Definition {
    name: "rbl",
    summary: "Whether a block list names an address; nothing is looked up in the DNS here, so it never matches.",
    reads_file: false,
    compile,
    examples: &[Example { argument: "x", input: b"x", matches: false }],
};

fn compile(_: &mut Argument<'_>) -> Compiled {
    Ok(no_match::test())
}
