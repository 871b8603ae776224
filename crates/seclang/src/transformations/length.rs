//! The value becomes its length in bytes, as a decimal number.

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "length",
    summary: "The value becomes its length in bytes, as a decimal number.",
    apply,
    touches: None,
    examples: &[(b"abcde", b"5"), (b"", b"0")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(input.len().to_string().as_bytes());
    out.as_slice() != input
}
