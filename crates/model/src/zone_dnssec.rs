//! Whether a zone is signed, and with what.

use std::fmt;

use serde::{Deserialize, Serialize};

/// DNSSEC of a zone that has a key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneDnssec {
    /// Whether answers are signed.
    pub is_active: bool,
    /// The private key (PKCS 8) in Base64, or what sealing made of that.
    pub key: String,
    pub is_sealed: bool,
    /// Whether DNSKEY records of the zone are served with its own.
    pub multi_signer: bool,
    /// RFC 3339.
    pub modified_on: String,
}

impl fmt::Debug for ZoneDnssec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ZoneDnssec(active: {}, key: …)", self.is_active)
    }
}
