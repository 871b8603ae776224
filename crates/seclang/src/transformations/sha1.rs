//! The value becomes its SHA-1 digest, as bytes (FIPS 180-4).

use sha1::Digest;

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "sha1",
    summary: "The value becomes its SHA-1 digest, as bytes (FIPS 180-4).",
    apply,
    touches: None,
    examples: &[(
        b"abc",
        b"\xa9\x99\x3e\x36\x47\x06\x81\x6a\xba\x3e\x25\x71\x78\x50\xc2\x6c\x9c\xd0\xd8\x9d",
    )],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(&sha1::Sha1::digest(input));
    true
}
