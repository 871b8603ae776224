//! NUL bytes become spaces.

use super::{ByteSet, Definition};

pub(super) const DEFINITION: Definition = Definition {
    name: "replaceNulls",
    summary: "NUL bytes become spaces.",
    apply,
    touches: Some(ByteSet::of(b"\0")),
    examples: &[(b"a\0b", b"a b"), (b"ab", b"ab")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    out.extend(input.iter().map(|byte| if *byte == 0 { b' ' } else { *byte }));
    out.as_slice() != input
}
