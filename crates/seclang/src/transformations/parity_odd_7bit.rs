//! The eighth bit becomes the odd parity of the other seven.

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "parityOdd7bit",
    summary: "The eighth bit becomes the odd parity of the other seven.",
    apply,
    touches: None,
    examples: &[(b"ac", b"a\xe3"), (b"a", b"a")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    out.extend(input.iter().map(|byte| byte & 127 | u8::from((byte & 127).count_ones() & 1 == 0) << 7));
    out.as_slice() != input
}
