//! The name of an argument as PHP keeps it: spaces and dots before the first bracket become `_`.

use super::{ByteSet, Definition};

pub(super) const DEFINITION: Definition = Definition {
    name: "phpArgsNames",
    summary: "The name of an argument as PHP keeps it: spaces and dots before the first bracket become `_`.",
    apply,
    touches: Some(ByteSet::of(b" .[=")),
    examples: &[
        (b"a.b c", b"a_b_c"),
        (b"  a", b"a"),
        (b"a[b.c][d]", b"a[b.c][d]"),
        (b"a.b[c].d", b"a_b[c]"),
        (b"a[ ]", b"a[]"),
        (b"a[b.c", b"a_b.c"),
        (b"[a]", b""),
        (b"ab", b"ab"),
    ],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    if matches!(input, [b'[' | b'=', ..]) {
        return true;
    }
    let spaces = input.iter().take_while(|byte| **byte == b' ').count();
    let name = input.get(spaces..).unwrap_or(&[]);
    let bracket = memchr::memchr(b'[', name).unwrap_or(name.len());
    let (plain, mut rest) = name.split_at(bracket);
    out.extend(plain.iter().map(|byte| if matches!(byte, b' ' | b'.') { b'_' } else { *byte }));
    // A bracket that is never closed is a letter like others, and so is all that follows.
    if memchr::memchr(b']', rest).is_none() {
        if let Some((_, tail)) = rest.split_first() {
            out.push(b'_');
            out.extend_from_slice(tail);
        }
        return out.as_slice() != input;
    }
    while let (Some(b'['), Some(close)) = (rest.first(), memchr::memchr(b']', rest)) {
        let (index, tail) = rest.split_at(close + 1);
        out.extend_from_slice(if index == b"[ ]" { b"[]" } else { index });
        rest = tail;
    }
    out.as_slice() != input
}
