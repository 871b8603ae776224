//! Pairs of hex digits become bytes; anything else ends the text.

use super::{Definition, hex_bytes};

pub(super) const DEFINITION: Definition = Definition {
    name: "hexDecode",
    summary: "Pairs of hex digits become bytes; anything else ends the text.",
    apply,
    touches: None,
    examples: &[(b"61fF", b"a\xff"), (b"zz", b""), (b"", b"")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    out.extend(hex_bytes(input));
    out.as_slice() != input
}
