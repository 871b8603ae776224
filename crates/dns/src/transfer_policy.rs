//! Who may have a zone whole.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::tsig::TsigKey;

/// Who may have a zone whole.
#[derive(Debug, Default, PartialEq)]
pub struct TransferPolicy {
    /// Clients that may ask without a signature.
    pub unsigned: Vec<IpNet>,
    /// Clients that may ask with a signature by one of the keys.
    pub signed: Vec<IpNet>,
    pub keys: Vec<TsigKey>,
}

impl TransferPolicy {
    /// The key of a name, without the final dot.
    pub fn key(&self, name: &str) -> Option<&TsigKey> {
        self.keys.iter().find(|key| key.name().to_string() == name)
    }

    /// Whether a client may have the zone.
    pub(crate) fn allows(&self, client: IpAddr, is_signed: bool) -> bool {
        let networks = if is_signed { &self.signed } else { &self.unsigned };
        networks.iter().any(|network| network.contains(&client))
    }
}
