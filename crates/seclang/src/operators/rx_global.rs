//! The value matches the pattern; the same as `rx`, for one value matches or does not.

use super::{Argument, Compiled, Definition, Example, rx};

pub(super) const DEFINITION: Definition = Definition {
    name: "rxGlobal",
    summary: "The value matches the pattern; the same as `rx`, for one value matches or does not.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "a(b)", input: b"ab ab", matches: true },
        Example { argument: "a(b)", input: b"ac", matches: false },
    ],
};

fn compile(argument: &mut Argument<'_>) -> Compiled {
    rx::compile(argument)
}
