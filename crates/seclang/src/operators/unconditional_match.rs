//! Always matches.

use super::{Argument, Compiled, Definition, Example, Test};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "unconditionalMatch",
    summary: "Always matches.",
    reads_file: false,
    compile,
    examples: &[Example { argument: "", input: b"", matches: true }],
};

struct UnconditionalMatch;

fn compile(_: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(UnconditionalMatch))
}

impl Test for UnconditionalMatch {
    fn is_match(&self, _: &[u8], _: &Data) -> bool {
        true
    }
}
