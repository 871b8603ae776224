//! What shells ignore is taken out: quotes, `^`, `\\`, white space before `/` and `(`; `,` and `;` become spaces.

use super::{ByteSet, Definition};

pub(super) const DEFINITION: Definition = Definition {
    name: "cmdLine",
    summary: "What shells ignore is taken out: quotes, `^`, `\\`, white space before `/` and `(`; `,` and `;` become spaces.",
    apply,
    touches: Some(ByteSet::of(b"\"'\\^,; \t\r\n").and(b'A', b'Z')),
    examples: &[(b"C^at  /etc", b"cat/etc"), (b"a\"b\";c", b"ab c"), (b"ls", b"ls")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    out.reserve(input.len());
    for &byte in input {
        match byte {
            b'"' | b'\'' | b'\\' | b'^' => {}
            b' ' | b',' | b';' | b'\t' | b'\r' | b'\n' => {
                if out.last() != Some(&b' ') {
                    out.push(b' ');
                }
            }
            b'/' | b'(' => {
                if out.last() == Some(&b' ') {
                    out.pop();
                }
                out.push(byte);
            }
            _ => out.push(byte.to_ascii_lowercase()),
        }
    }
    out.as_slice() != input
}
