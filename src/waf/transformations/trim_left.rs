//! White space at the start is taken out.

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "trimLeft",
    summary: "White space at the start is taken out.",
    apply,
    examples: &[(b" a b ", b"a b "), (b"ab", b"ab")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(input.trim_ascii_start());
    out.len() != input.len()
}
