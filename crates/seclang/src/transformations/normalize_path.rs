//! `//`, `/./` and `x/../` are resolved, without touching the file system.

use super::{ByteSet, Definition, path::normalize};

pub(super) const DEFINITION: Definition = Definition {
    name: "normalizePath",
    summary: "`//`, `/./` and `x/../` are resolved, without touching the file system.",
    apply,
    touches: Some(ByteSet::of(b"./")),
    examples: &[
        (b"/a//b/./c/../d", b"/a/b/d"),
        (b"../../x", b"../../x"),
        (b"/a/b", b"/a/b"),
        (b".", b""),
        (b"..", b".."),
        (b"...", b"..."),
        (b"/../etc/", b"/etc/"),
    ],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    if memchr::memchr(b'/', input).is_none() && input != b"." {
        return false;
    }
    normalize(input, b"/", out);
    out.as_slice() != input
}
