//! The eighth bit becomes zero.

use super::{ByteSet, Definition};

pub(super) const DEFINITION: Definition = Definition {
    name: "parityZero7bit",
    summary: "The eighth bit becomes zero.",
    apply,
    touches: Some(ByteSet::EMPTY.and(128, 255)),
    examples: &[(b"\xe1", b"a"), (b"a", b"a")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    out.extend(input.iter().map(|byte| byte & 127));
    out.as_slice() != input
}
