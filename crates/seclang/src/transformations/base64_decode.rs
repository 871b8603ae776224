//! Base64 becomes bytes; a text that is not Base64 from its first byte stays.

use super::Definition;
use body::base64::decode_prefix;

pub(super) const DEFINITION: Definition = Definition {
    name: "base64Decode",
    summary: "Base64 becomes bytes; a text that is not Base64 from its first byte stays.",
    apply,
    touches: None,
    examples: &[(b"PHNjcmlwdD4=", b"<script>"), (b"PHNj", b"<sc"), (b"!x", b"!x")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    decode_prefix(input, out);
    !out.is_empty() && out.as_slice() != input
}
