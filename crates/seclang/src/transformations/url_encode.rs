//! Bytes other than letters, digits and `*` become `%hh`; spaces become `+`.

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "urlEncode",
    summary: "Bytes other than letters, digits and `*` become `%hh`; spaces become `+`.",
    apply,
    touches: None,
    examples: &[(b"a b/c", b"a+b%2fc"), (b"ab", b"ab")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    for &byte in input {
        match byte {
            b' ' => out.push(b'+'),
            b'*' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => out.push(byte),
            _ => out.extend_from_slice(format!("%{byte:02x}").as_bytes()),
        }
    }
    out.as_slice() != input
}
