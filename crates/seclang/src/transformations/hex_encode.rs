//! Each byte becomes two lower-case hex digits.

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "hexEncode",
    summary: "Each byte becomes two lower-case hex digits.",
    apply,
    touches: None,
    examples: &[(b"a\xff", b"61ff"), (b"", b"")],
};

const DIGITS: [u8; 16] = *b"0123456789abcdef";

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or(b'0');
    out.extend(input.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
    !input.is_empty()
}
