//! Comments are taken out: `/* … */`, `<!-- … -->`, and from `--` or `#` to the end.

use super::{ByteSet, Definition};

pub(super) const DEFINITION: Definition = Definition {
    name: "removeComments",
    summary: "Comments are taken out: `/* … */`, `<!-- … -->`, and from `--` or `#` to the end.",
    apply,
    touches: Some(ByteSet::of(b"*<-#")),
    examples: &[
        (b"a/*b*/c", b"ac"),
        (b"a<!--b-->c", b"ac"),
        (b"a--b", b"a"),
        (b"a#b", b"a"),
        (b"a/*b", b"a "),
        (b"a-b", b"a-b"),
    ],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    let mut rest = input;
    while let Some((&byte, after)) = rest.split_first() {
        let close: &[u8] = match rest {
            [b'/', b'*', ..] => b"*/",
            [b'<', b'!', b'-', b'-', ..] => b"-->",
            [b'-', b'-', ..] | [b'#', ..] => return true,
            _ => {
                out.push(byte);
                rest = after;
                continue;
            }
        };
        let inner = rest.get(2..).unwrap_or(&[]);
        let Some(at) = memchr::memmem::find(inner, close) else {
            // What is open to the end leaves a space.
            out.push(b' ');
            return true;
        };
        rest = inner.get(at + close.len()..).unwrap_or(&[]);
    }
    out.len() != input.len()
}
