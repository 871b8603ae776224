//! ASCII letters become lower case.

use super::{ByteSet, Definition};

pub(super) const DEFINITION: Definition = Definition {
    name: "lowercase",
    summary: "ASCII letters become lower case.",
    apply,
    touches: Some(ByteSet::EMPTY.and(b'A', b'Z')),
    examples: &[(b"ABc-\xc4", b"abc-\xc4"), (b"abc", b"abc")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    if !input.iter().any(u8::is_ascii_uppercase) {
        return false;
    }
    out.extend(input.iter().map(u8::to_ascii_lowercase));
    true
}
