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
    let mut in_space = false;
    for &byte in input {
        let space = is_space(byte);
        if space && !in_space {
            out.push(b' ');
        } else if !space {
            out.push(byte);
        }
        in_space = space;
    }
    out.as_slice() != input
}
