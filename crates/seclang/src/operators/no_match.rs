//! Never matches.

use super::{Argument, Compiled, Definition, Example, Test};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "noMatch",
    summary: "Never matches.",
    reads_file: false,
    compile,
    examples: &[Example { argument: "", input: b"x", matches: false }],
};

struct NoMatch;

fn compile(_: &mut Argument<'_>) -> Compiled {
    Ok(test())
}

/// The test that nothing passes.
pub(super) fn test() -> Box<dyn Test> {
    Box::new(NoMatch)
}

impl Test for NoMatch {
    fn is_match(&self, _: &[u8], _: &Data) -> bool {
        false
    }
}
