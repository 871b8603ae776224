//! The eighth bit becomes the even parity of the other seven.

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "parityEven7bit",
    summary: "The eighth bit becomes the even parity of the other seven.",
    apply,
    touches: None,
    examples: &[(b"ac", b"\xe1c"), (b"c", b"c")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    out.extend(input.iter().map(|byte| byte & 127 | u8::from((byte & 127).count_ones() & 1 == 1) << 7));
    out.as_slice() != input
}
