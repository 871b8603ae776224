//! As `base64Decode`, but bytes that are not Base64 are passed over.

use super::Definition;
use body::base64::{decode, sextet};

pub(super) const DEFINITION: Definition = Definition {
    name: "base64DecodeExt",
    summary: "As `base64Decode`, but bytes that are not Base64 are passed over.",
    apply,
    touches: None,
    examples: &[(b"PHNj.cmlwdD4=", b"<script>"), (b"..PHNj", b"<sc"), (b"!", b"!")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    decode(input.iter().filter_map(|byte| sextet(*byte)), out);
    !out.is_empty() && out.as_slice() != input
}
