//! JavaScript escapes become bytes: `\\uhhhh`, `\\u{h}`, `\\xhh`, octal, `\\n` and its kin.

use super::{ByteSet, Definition, best_fit, escaped_letter, hex_pair, low_byte};

pub(super) const DEFINITION: Definition = Definition {
    name: "jsDecode",
    summary: "JavaScript escapes become bytes: `\\uhhhh`, `\\u{h}`, `\\xhh`, octal, `\\n` and its kin.",
    apply,
    touches: Some(ByteSet::of(b"\\")),
    examples: &[
        (br"\u0041\x42\103\n\q", b"ABC\nq"),
        (br"\u{3c}script", b"<script"),
        (br"\uff1c", b"<"),
        (b"x", b"x"),
    ],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    if memchr::memchr(b'\\', input).is_none() {
        return false;
    }
    let mut rest = input;
    while let Some((&byte, after)) = rest.split_first() {
        let (decoded, tail) = if byte == b'\\' { escape(after) } else { (byte, after) };
        out.push(decoded);
        rest = tail;
    }
    out.as_slice() != input
}

/// The byte of what stands after a backslash, and what follows it.
fn escape(text: &[u8]) -> (u8, &[u8]) {
    match text {
        [b'u', b'{', tail @ ..] if let Some((value, tail)) = braced(tail) => (value, tail),
        [b'u', a, b, c, d, tail @ ..]
            if let (Some(high), Some(low)) = (hex_pair(*a, *b), hex_pair(*c, *d)) =>
        {
            (best_fit(u16::from_be_bytes([high, low])), tail)
        }
        [b'x', high, low, tail @ ..] if let Some(value) = hex_pair(*high, *low) => (value, tail),
        [b'0'..=b'7', ..] => octal(text),
        [letter, tail @ ..] => (escaped_letter(*letter), tail),
        [] => (b'\\', &[]),
    }
}

fn braced(text: &[u8]) -> Option<(u8, &[u8])> {
    let close = text.iter().take(9).position(|b| *b == b'}').filter(|n| *n > 0)?;
    let digits = std::str::from_utf8(text.get(..close)?).ok()?;
    let value = u32::from_str_radix(digits, 16).ok()?;
    let byte = u16::try_from(value).map_or_else(|_| low_byte(value), best_fit);
    Some((byte, text.get(close + 1..)?))
}

/// At most three digits, and no more than fit a byte.
fn octal(text: &[u8]) -> (u8, &[u8]) {
    let mut value = 0u8;
    let mut used = 0;
    for digit in text.iter().take(3).take_while(|b| (b'0'..=b'7').contains(*b)) {
        let Some(next) = value.checked_mul(8).and_then(|v| v.checked_add(digit - b'0')) else { break };
        value = next;
        used += 1;
    }
    (value, text.get(used..).unwrap_or(&[]))
}
