//! `%hh` becomes its byte and `+` a space; what is malformed stays.

use super::{ByteSet, Definition};
use body::urlencoded;

pub(super) const DEFINITION: Definition = Definition {
    name: "urlDecode",
    summary: "`%hh` becomes its byte and `+` a space; what is malformed stays.",
    apply,
    touches: Some(ByteSet::of(b"%+")),
    examples: &[(b"a%20b+c%zz%4", b"a b c%zz%4"), (b"abc", b"abc")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    if !urlencoded::needs_decoding(input) {
        return false;
    }
    urlencoded::decode(input, out);
    out.as_slice() != input
}
