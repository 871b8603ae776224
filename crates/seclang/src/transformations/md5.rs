//! The value becomes its MD5 digest, as bytes (RFC 1321).

use md5::Digest;

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "md5",
    summary: "The value becomes its MD5 digest, as bytes (RFC 1321).",
    apply,
    touches: None,
    examples: &[(b"abc", b"\x90\x01\x50\x98\x3c\xd2\x4f\xb0\xd6\x96\x3f\x7d\x28\xe1\x7f\x72")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(&md5::Md5::digest(input));
    true
}
