//! As `urlDecode`, and `%uhhhh` becomes the nearest single byte.

use super::{ByteSet, Definition, best_fit, hex_pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "urlDecodeUni",
    summary: "As `urlDecode`, and `%uhhhh` becomes the nearest single byte.",
    apply,
    touches: Some(ByteSet::of(b"%+")),
    examples: &[(b"%u0041%uff1c%41+%u00", b"A<A %u00"), (b"%u2215", b"/"), (b"x", b"x")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    if memchr::memchr2(b'%', b'+', input).is_none() {
        return false;
    }
    let mut rest = input;
    while let Some((&byte, after)) = rest.split_first() {
        rest = match (byte, after) {
            (b'%', [b'u' | b'U', a, b, c, d, tail @ ..])
                if let (Some(high), Some(low)) = (hex_pair(*a, *b), hex_pair(*c, *d)) =>
            {
                out.push(best_fit(u16::from_be_bytes([high, low])));
                tail
            }
            (b'%', [high, low, tail @ ..]) if let Some(decoded) = hex_pair(*high, *low) => {
                out.push(decoded);
                tail
            }
            (b'+', _) => {
                out.push(b' ');
                after
            }
            _ => {
                out.push(byte);
                after
            }
        };
    }
    out.as_slice() != input
}
