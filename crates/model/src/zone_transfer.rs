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
    /// Ids of peers that get NOTIFY messages and may request the zone.
    pub peers: Vec<String>,
    pub is_enabled: bool,
    /// RFC 3339.
    pub created_on: String,
}

/// A zone that is received from others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncomingTransfer {
    pub id: String,
    /// Ids of peers that have the zone: they are asked in this order.
    pub peers: Vec<String>,
    /// How often they are asked for its serial, in seconds; 0 for what the zone says.
    pub auto_refresh_seconds: u32,
    /// RFC 3339, as the other.
    pub created_on: String,
    pub modified_on: String,
    /// What came last; `None` before the first time.
    pub received: Option<ReceivedAuthority>,
}

impl IncomingTransfer {
    /// One whose peers are not named yet.
    pub fn new(id: String, now: &str) -> Self {
        Self {
            id,
            peers: Vec::new(),
            auto_refresh_seconds: 0,
            created_on: now.to_owned(),
            modified_on: now.to_owned(),
            received: None,
        }
    }
}

/// The start of authority of a zone that was received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceivedAuthority {
    pub soa: dns::Soa,
    /// Whether its primaries have not answered for so long that it is not answered from.
    pub is_expired: bool,
}
