//! Base64 becomes bytes; a text that is not Base64 from its first byte stays.

use super::{Definition, low_byte};

pub(super) const DEFINITION: Definition = Definition {
    name: "base64Decode",
    summary: "Base64 becomes bytes; a text that is not Base64 from its first byte stays.",
    apply,
    examples: &[(b"PHNjcmlwdD4=", b"<script>"), (b"PHNj", b"<sc"), (b"!x", b"!x")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    decode(input.iter().map_while(|byte| sextet(*byte)), out);
    !out.is_empty() && out.as_slice() != input
}

/// Appends the bytes of sextets; bits that do not fill a byte are dropped.
pub(super) fn decode(sextets: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
    let (mut bits, mut held) = (0u32, 0u32);
    for value in sextets {
        bits = bits << 6 | value;
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push(low_byte(bits >> held));
        }
    }
}

/// The standard alphabet; `=` and everything else ends the text.
pub(super) fn sextet(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}
