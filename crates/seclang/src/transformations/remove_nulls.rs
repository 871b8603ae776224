//! NUL bytes are taken out.

use super::{ByteSet, Definition};

pub(super) const DEFINITION: Definition = Definition {
    name: "removeNulls",
    summary: "NUL bytes are taken out.",
    apply,
    touches: Some(ByteSet::of(b"\0")),
    examples: &[(b"a\0b\0", b"ab"), (b"ab", b"ab")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    if memchr::memchr(0, input).is_none() {
        return false;
    }
    out.extend(input.iter().filter(|b| **b != 0));
    true
}
