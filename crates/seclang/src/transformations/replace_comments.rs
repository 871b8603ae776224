//! Each `/* … */` becomes one space; one that is not closed swallows the rest.

use super::{ByteSet, Definition};

pub(super) const DEFINITION: Definition = Definition {
    name: "replaceComments",
    summary: "Each `/* … */` becomes one space; one that is not closed swallows the rest.",
    apply,
    touches: Some(ByteSet::of(b"*")),
    examples: &[(b"a/* x */b", b"a b"), (b"a/*b", b"a "), (b"a*/b", b"a*/b")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    let mut rest = input;
    let mut changed = false;
    while let Some(open) = memchr::memmem::find(rest, b"/*") {
        changed = true;
        let (before, comment) = rest.split_at(open);
        out.extend_from_slice(before);
        out.push(b' ');
        let inner = comment.get(2..).unwrap_or(&[]);
        rest = memchr::memmem::find(inner, b"*/").and_then(|close| inner.get(close + 2..)).unwrap_or(&[]);
    }
    if changed {
        out.extend_from_slice(rest);
    }
    changed
}
