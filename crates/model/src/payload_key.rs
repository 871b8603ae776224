//! The key that matched payloads are sealed with.

use serde::{Deserialize, Serialize};

/// An X25519 public key (RFC 7748). Only the operator has the private one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadKey(pub [u8; 32]);
