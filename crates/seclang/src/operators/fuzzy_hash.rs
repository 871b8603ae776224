//! Whether a value is much like a known file; it never matches here.

use super::{Argument, Compiled, Definition, Example, no_match};

pub(super) const DEFINITION: Definition = Definition {
    name: "fuzzyHash",
    summary: "Whether a value is much like a known file; it never matches here.",
    reads_file: false,
    compile,
    examples: &[Example { argument: "x", input: b"x", matches: false }],
};

fn compile(_: &mut Argument<'_>) -> Compiled {
    Ok(no_match::test())
}
