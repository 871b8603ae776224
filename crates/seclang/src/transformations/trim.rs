//! White space at both ends is taken out.

use super::{ByteSet, Definition};

pub(super) const DEFINITION: Definition = Definition {
    name: "trim",
    summary: "White space at both ends is taken out.",
    apply,
    touches: Some(ByteSet::of(b" \t\n\r\x0b\x0c")),
    examples: &[(b" a b\n", b"a b"), (b"ab", b"ab")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    let trimmed = input.trim_ascii();
    if trimmed.len() == input.len() {
        return false;
    }
    out.extend_from_slice(trimmed);
    true
}
