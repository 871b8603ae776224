//! White space at the end is taken out.

use super::{ByteSet, Definition};

pub(super) const DEFINITION: Definition = Definition {
    name: "trimRight",
    summary: "White space at the end is taken out.",
    apply,
    touches: Some(ByteSet::of(b" \t\n\r\x0b\x0c")),
    examples: &[(b" a b ", b" a b"), (b"ab", b"ab")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(input.trim_ascii_end());
    out.len() != input.len()
}
