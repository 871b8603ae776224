//! As `normalizePath`, with `\\` taken for `/`.

use super::{ByteSet, Definition, path::normalize};

pub(super) const DEFINITION: Definition = Definition {
    name: "normalizePathWin",
    summary: "As `normalizePath`, with `\\` taken for `/`.",
    apply,
    touches: Some(ByteSet::of(b"./\\")),
    examples: &[(br"\a\..\b", b"/b"), (br"..\..\x", b"../../x"), (b"/a", b"/a"), (b".", b""), (b"..", b"..")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    if memchr::memchr2(b'/', b'\\', input).is_none() && input != b"." {
        return false;
    }
    normalize(input, b"/\\", out);
    out.as_slice() != input
}
