//! C escapes become bytes: `\\n` and its kin, `\\xhh`, octal; of others the backslash goes.

use super::{ByteSet, Definition, escaped_letter, hex_pair, low_byte};

pub(super) const DEFINITION: Definition = Definition {
    name: "escapeSeqDecode",
    summary: "C escapes become bytes: `\\n` and its kin, `\\xhh`, octal; of others the backslash goes.",
    apply,
    touches: Some(ByteSet::of(b"\\")),
    examples: &[(br"\x41\102\n\q\\", b"AB\nq\\"), (b"x", b"x")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    if memchr::memchr(b'\\', input).is_none() {
        return false;
    }
    let mut rest = input;
    while let Some((&byte, after)) = rest.split_first() {
        let (decoded, tail) = match (byte, after) {
            (b'\\', [b'x' | b'X', high, low, tail @ ..]) if let Some(value) = hex_pair(*high, *low) => {
                (value, tail)
            }
            (b'\\', [b'0'..=b'7', ..]) => {
                let digits = after.iter().take(3).take_while(|b| (b'0'..=b'7').contains(*b)).count();
                let (number, tail) = after.split_at(digits);
                (low_byte(number.iter().fold(0, |n, d| n << 3 | u32::from(d - b'0'))), tail)
            }
            (b'\\', [letter, tail @ ..]) => (escaped_letter(*letter), tail),
            _ => (byte, after),
        };
        out.push(decoded);
        rest = tail;
    }
    out.as_slice() != input
}
