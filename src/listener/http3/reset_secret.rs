//! The secret of stateless resets (RFC 9000 section 10.3), which end QUIC connections of a process that was killed.
//!
//! A new process knows nothing of the connections of one that was killed. With the same secret it knows their ids as ids
//! of this edge and can show that it may end them, so that their clients come anew at once, and not after a time-out.

use std::sync::Arc;

use aws_lc_rs::hmac;
use quinn::EndpointConfig;
use quinn_proto::HashedConnectionIdGenerator;

/// A secret that all processes of this installation have.
#[derive(Clone, Copy)]
pub struct ResetSecret {
    /// What tokens of resets are made with.
    tokens: [u8; 32],
    /// What ids of connections are known by.
    ids: u64,
}

impl ResetSecret {
    /// Derives the secret from the key of the installation. The key cannot be computed from it.
    pub fn of(key: [u8; 32]) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        let derived = |purpose: &[u8]| {
            let mut bytes = [0; 32];
            // INVARIANT: a tag of SHA-256 has 32 bytes.
            bytes.copy_from_slice(hmac::sign(&key, purpose).as_ref());
            bytes
        };
        let [a, b, c, d, e, f, g, h, ..] = derived(b"quic connection ids");
        Self { tokens: derived(b"quic stateless resets"), ids: u64::from_le_bytes([a, b, c, d, e, f, g, h]) }
    }

    pub(super) fn endpoint(self) -> EndpointConfig {
        let mut config = EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &self.tokens)));
        config.cid_generator(move || Box::new(HashedConnectionIdGenerator::from_key(self.ids)));
        config
    }
}
