//! Drops the transformations inherited before it; alone it changes nothing.

use super::{ByteSet, Definition};

pub(super) const DEFINITION: Definition = Definition {
    name: "none",
    summary: "Drops the transformations inherited before it; alone it changes nothing.",
    apply,
    touches: Some(ByteSet::EMPTY),
    examples: &[(b"A", b"A")],
};

fn apply(_: &[u8], _: &mut Vec<u8>) -> bool {
    false
}
