//! Characters beyond ASCII become `%uhhhh`.

use super::{ByteSet, Definition, low_byte};

pub(super) const DEFINITION: Definition = Definition {
    name: "utf8toUnicode",
    summary: "Characters beyond ASCII become `%uhhhh`.",
    apply,
    touches: Some(ByteSet::EMPTY.and(128, 255)),
    examples: &[("a\u{3c}\u{ff1c}".as_bytes(), b"a<%uff1c"), (b"a\xff", b"a\xff")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    if input.is_ascii() {
        return false;
    }
    for chunk in input.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_ascii() {
                out.push(low_byte(u32::from(character)));
            } else {
                out.extend_from_slice(format!("%u{:04x}", u32::from(character)).as_bytes());
            }
        }
        out.extend_from_slice(chunk.invalid());
    }
    out.as_slice() != input
}
