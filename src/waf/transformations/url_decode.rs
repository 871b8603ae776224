//! `%hh` becomes its byte and `+` a space; what is malformed stays.

use super::{Definition, hex_pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "urlDecode",
    summary: "`%hh` becomes its byte and `+` a space; what is malformed stays.",
    apply,
    examples: &[(b"a%20b+c%zz%4", b"a b c%zz%4"), (b"abc", b"abc")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    if memchr::memchr2(b'%', b'+', input).is_none() {
        return false;
    }
    let mut rest = input;
    while let Some((&byte, after)) = rest.split_first() {
        rest = match (byte, after) {
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
