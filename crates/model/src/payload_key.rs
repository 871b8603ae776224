//! The key that matched payloads are sealed with.

/// An X25519 public key (RFC 7748). Only the operator has the private one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayloadKey(pub [u8; 32]);
