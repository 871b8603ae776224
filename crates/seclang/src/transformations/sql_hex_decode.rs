//! SQL hex literals become their bytes: `0x414243` is `ABC`.

use super::{ByteSet, Definition, hex_bytes};

pub(super) const DEFINITION: Definition = Definition {
    name: "sqlHexDecode",
    summary: "SQL hex literals become their bytes: `0x414243` is `ABC`.",
    apply,
    touches: Some(ByteSet::of(b"xX")),
    examples: &[(b"a 0x414243 z", b"a ABC z"), (b"0x4", b"0x4"), (b"x", b"x")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    let mut rest = input;
    while let Some((&byte, after)) = rest.split_first() {
        let literal = match (byte, after) {
            (b'0', [b'x' | b'X', digits @ ..]) => {
                digits.iter().take_while(|b| b.is_ascii_hexdigit()).count() & !1
            }
            _ => 0,
        };
        if literal == 0 {
            out.push(byte);
            rest = after;
            continue;
        }
        let (digits, tail) = after.split_at(1 + literal);
        out.extend(hex_bytes(digits.get(1..).unwrap_or(&[])));
        rest = tail;
    }
    out.as_slice() != input
}
