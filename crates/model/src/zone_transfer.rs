//! Other name servers that have zones of ours, or that we have zones of: who they are, and which zones.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// The name servers of others that an account knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferPartners {
    pub acls: Vec<TransferAcl>,
    pub peers: Vec<TransferPeer>,
    pub keys: Vec<SharedKey>,
}

impl TransferPartners {
    pub fn peer(&self, id: &str) -> Option<&TransferPeer> {
        self.peers.iter().find(|peer| peer.id == id)
    }

    pub fn key(&self, id: &str) -> Option<&SharedKey> {
        self.keys.iter().find(|key| key.id == id)
    }
}

/// A network whose hosts may ask for zones, and may say that a zone has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferAcl {
    pub id: String,
    pub name: String,
    pub ip_range: IpNet,
}

/// A name server of others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferPeer {
    pub id: String,
    pub name: String,
    pub ip: Option<IpAddr>,
    pub port: u16,
    /// The key that signs what goes between us.
    pub tsig_id: Option<String>,
    /// Whether it is asked for changes rather than for whole zones.
    pub ixfr_enable: bool,
}

impl TransferPeer {
    /// Where queries come to.
    pub const PORT: u16 = 53;
}

/// A key that a name server of others has too (RFC 8945).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedKey {
    pub id: String,
    /// A domain name in lower case, without a final dot.
    pub name: String,
    pub algorithm: String,
    /// Base64, or what sealing made of that.
    pub secret: String,
    pub is_sealed: bool,
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedKey({}, {}, secret: …)", self.name, self.algorithm)
    }
}

/// A zone that others have from us.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingTransfer {
    pub id: String,
    /// Ids of peers that are told of changes, and may ask for the zone.
    pub peers: Vec<String>,
    pub is_enabled: bool,
    /// RFC 3339.
    pub created_on: String,
}
