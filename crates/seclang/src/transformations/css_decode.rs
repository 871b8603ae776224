//! CSS escapes become bytes: `\\` and up to six hex digits, or any other character.

use super::{ByteSet, Definition, low_byte};

pub(super) const DEFINITION: Definition = Definition {
    name: "cssDecode",
    summary: "CSS escapes become bytes: `\\` and up to six hex digits, or any other character.",
    apply,
    touches: Some(ByteSet::of(b"\\")),
    examples: &[
        (br"\6a\000061vascript", b"javascript"),
        (br"java\script", b"javascript"),
        (br"\00ff1c x", b"<x"),
        (b"x", b"x"),
    ],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    if memchr::memchr(b'\\', input).is_none() {
        return false;
    }
    let mut rest = input;
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'\\' {
            out.push(byte);
            rest = after;
            continue;
        }
        let digits = after.iter().take(6).take_while(|b| b.is_ascii_hexdigit()).count();
        rest = match after {
            [] => after,
            _ if digits > 0 => {
                let (number, tail) = after.split_at(digits);
                out.push(narrow(number));
                // One white space ends the escape (CSS Syntax section 4.3.7).
                match tail {
                    [b'\r', b'\n', tail @ ..] => tail,
                    [space, tail @ ..] if space.is_ascii_whitespace() => tail,
                    _ => tail,
                }
            }
            // An escaped line end joins lines.
            [b'\r', b'\n', tail @ ..] | [b'\n', tail @ ..] => tail,
            [escaped, tail @ ..] => {
                out.push(*escaped);
                tail
            }
        };
    }
    out.as_slice() != input
}

/// A character by number, as one byte: full-width forms as their ASCII twins, others by the low byte.
fn narrow(digits: &[u8]) -> u8 {
    let value = digits.iter().filter_map(|d| char::from(*d).to_digit(16)).fold(0, |n, d| n << 4 | d);
    low_byte(if (0xff01..=0xff5e).contains(&value) { value - 0xfee0 } else { value })
}
