//! Comment marks are taken out, what they enclose stays: `/*`, `*/`, `--`, `#`, `<!--`, `-->`.

use super::{ByteSet, Definition};

pub(super) const DEFINITION: Definition = Definition {
    name: "removeCommentsChar",
    summary: "Comment marks are taken out, what they enclose stays: `/*`, `*/`, `--`, `#`, `<!--`, `-->`.",
    apply,
    touches: Some(ByteSet::of(b"*<-#")),
    examples: &[(b"a/*b*/c", b"abc"), (b"a--b#c", b"abc"), (b"<!--x-->", b"x"), (b"a-b", b"a-b")],
};

const MARKS: [&[u8]; 6] = [b"<!--", b"-->", b"/*", b"*/", b"--", b"#"];

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    let mut rest = input;
    while let Some((&byte, after)) = rest.split_first() {
        rest = match MARKS.iter().find_map(|mark| rest.strip_prefix(*mark)) {
            Some(tail) => tail,
            None => {
                out.push(byte);
                after
            }
        };
    }
    out.len() != input.len()
}
