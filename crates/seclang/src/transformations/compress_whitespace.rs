//! Runs of white space become one space.

use super::{Definition, SPACE, is_space};

pub(super) const DEFINITION: Definition = Definition {
    name: "compressWhitespace",
    summary: "Runs of white space become one space.",
    apply,
    touches: Some(SPACE),
    examples: &[(b"a \t\n b", b"a b"), (b"a b", b"a b"), (b"a\tb", b"a b")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    let mut parts = input.split(|byte| is_space(*byte)).peekable();
    let mut is_first = true;
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        out.extend_from_slice(part);
        // Between two spaces lies an empty part.
        if !is_last && (is_first || !part.is_empty()) {
            out.push(b' ');
        }
        is_first = false;
    }
    out.as_slice() != input
}
