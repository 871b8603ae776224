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
    /// Whether denials name hashes of names (NSEC3), not names (NSEC).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uses_nsec3: bool,
    /// The change of the key that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollover: Option<KeyRollover>,
    /// RFC 3339.
    pub modified_on: String,
}

/// A change of the key of a zone (RFC 6781 section 4.1.2): the other key is shown and signs the keys, then the zone above
/// gets its DS record, then it signs everything, and at last the first key goes.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRollover {
    pub stage: RolloverStage,
    /// The key that comes, or while it retires the key that was, as of [`ZoneDnssec::key`].
    pub key: String,
    pub is_sealed: bool,
    /// When the stage began, in seconds since the epoch.
    pub since: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RolloverStage {
    /// The key that comes is shown. Resolvers learn of it.
    Published,
    /// CDS and CDNSKEY records ask the parent zone for its DS record.
    Announced,
    /// It signs everything. The key that was is shown until nobody needs it.
    Retiring,
}

impl fmt::Debug for KeyRollover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyRollover({:?} since {}, key: …)", self.stage, self.since)
    }
}

impl ZoneDnssec {
    /// Goes on to a stage; when the key that was retires, both change places.
    pub fn advanced(&self, stage: RolloverStage, now: u64) -> Self {
        let mut next = self.clone();
        let Some(rollover) = &mut next.rollover else { return next };
        (rollover.stage, rollover.since) = (stage, now);
        if stage == RolloverStage::Retiring {
            std::mem::swap(&mut next.key, &mut rollover.key);
            std::mem::swap(&mut next.is_sealed, &mut rollover.is_sealed);
        }
        next
    }
}

impl fmt::Debug for ZoneDnssec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ZoneDnssec(active: {}, key: …)", self.is_active)
    }
}
