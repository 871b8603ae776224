//! Keyed hashes: of values, so that events can be told to be about the same one, and of bodies.
//!
//! HMAC-SHA-256 (RFC 2104), cut to 128 bits. A plain hash of a card number could be turned back by trying
//! them all.

use hmac::{Hmac, KeyInit, Mac as _};
use sha2::Sha256;

/// What becomes of a text.
pub type Digest = [u8; 16];

/// A key to hash with.
#[derive(Clone)]
pub struct Mac([u8; 32]);

impl Mac {
    pub fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// The hash of a list of texts: each behind its length, so that no two lists are one text.
    pub fn digest<'t>(&self, parts: impl IntoIterator<Item = &'t [u8]>) -> Digest {
        // INVARIANT: a key of any length is taken, and the output is longer than a digest.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return Digest::default() };
        for part in parts {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().first_chunk().copied().unwrap_or_default()
    }
}

impl std::fmt::Debug for Mac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mac")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_differ_by_key_and_by_every_part() {
        let mac = Mac::new([1; 32]);
        let digest = mac.digest([&b"ab"[..], b"c"]);
        assert_eq!(digest, mac.digest([&b"ab"[..], b"c"]));
        let others = [
            Mac::new([2; 32]).digest([&b"ab"[..], b"c"]),
            mac.digest([&b"a"[..], b"bc"]),
            mac.digest([&b"abc"[..]]),
            mac.digest([&b"ab"[..], b"c", b""]),
        ];
        assert!(others.iter().all(|other| *other != digest));
    }
}
