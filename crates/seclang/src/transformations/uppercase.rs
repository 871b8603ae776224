//! ASCII letters become upper case.

use super::{ByteSet, Definition};

pub(super) const DEFINITION: Definition = Definition {
    name: "uppercase",
    summary: "ASCII letters become upper case.",
    apply,
    touches: Some(ByteSet::EMPTY.and(b'a', b'z')),
    examples: &[(b"aBC", b"ABC"), (b"1", b"1")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    if !input.iter().any(u8::is_ascii_lowercase) {
        return false;
    }
    out.extend(input.iter().map(u8::to_ascii_uppercase));
    true
}
