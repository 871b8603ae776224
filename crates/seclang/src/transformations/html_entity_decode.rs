//! Numeric entities and `quot amp lt gt nbsp apos` become bytes; the semicolon may be missing.

use super::{ByteSet, Definition, low_byte};

pub(super) const DEFINITION: Definition = Definition {
    name: "htmlEntityDecode",
    summary: "Numeric entities and `quot amp lt gt nbsp apos` become bytes; the semicolon may be missing.",
    apply,
    touches: Some(ByteSet::of(b"&")),
    examples: &[
        (b"&lt;a&#x3e;&#60&QUOT;&amp", b"<a><\"&"),
        (b"a & b &x;", b"a & b &x;"),
        (b"&nbsp;x", b"\xa0x"),
    ],
};

const NAMED: &[(&[u8], u8)] =
    &[(b"quot", b'"'), (b"amp", b'&'), (b"lt", b'<'), (b"gt", b'>'), (b"nbsp", 0xa0), (b"apos", b'\'')];

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    if memchr::memchr(b'&', input).is_none() {
        return false;
    }
    let mut rest = input;
    while let Some((&byte, after)) = rest.split_first() {
        let entity = if byte == b'&' { entity(after) } else { None };
        rest = match entity {
            Some((decoded, length)) => {
                out.push(decoded);
                let tail = after.get(length..).unwrap_or(&[]);
                tail.strip_prefix(b";").unwrap_or(tail)
            }
            None => {
                out.push(byte);
                after
            }
        };
    }
    out.as_slice() != input
}

/// The byte of an entity and the length of its text after `&`, without the semicolon.
fn entity(text: &[u8]) -> Option<(u8, usize)> {
    if let Some(number) = text.strip_prefix(b"#") {
        let (digits, radix, skipped) = match number {
            [b'x' | b'X', hex @ ..] => (hex, 16, 2),
            _ => (number, 10, 1),
        };
        let count = digits.iter().take_while(|b| char::from(**b).is_digit(radix)).count();
        let text = std::str::from_utf8(digits.get(..count)?).ok()?;
        // Only the low byte is kept, as the engines this language comes from do.
        let value = text
            .chars()
            .filter_map(|c| c.to_digit(radix))
            .fold(0u32, |n, d| n.wrapping_mul(radix).wrapping_add(d));
        return (count > 0).then_some((low_byte(value), skipped + count));
    }
    let named = NAMED
        .iter()
        .find(|(name, _)| text.get(..name.len()).is_some_and(|t| t.eq_ignore_ascii_case(name)))?;
    Some((named.1, named.0.len()))
}
