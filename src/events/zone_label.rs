//! Whose an event is.

use model::{Account, AccountId, ZoneId};
use serde::{Serialize, Serializer};

/// The zone that an event belongs to, written as its name in log lines. A name may have several owners one after the other,
/// so the ids decide who may read the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneLabel<'a> {
    /// `gateway`, `names` or `unknown` if it belongs to no zone.
    pub name: &'a str,
    /// Empty if it belongs to no zone.
    pub zone_id: &'a str,
    pub account_id: &'a str,
}

impl<'a> ZoneLabel<'a> {
    /// For a request whose host is not served here. Its events belong to the default account.
    pub const UNKNOWN: Self = Self { name: "unknown", zone_id: "", account_id: Account::DEFAULT };

    /// For a query of a resolver over HTTPS.
    pub const NAMES: Self = Self { name: "names", zone_id: "", account_id: Account::DEFAULT };

    pub fn of_zone(name: &'a str, id: &'a ZoneId, account: &'a AccountId) -> Self {
        Self { name, zone_id: id.as_str(), account_id: account.as_str() }
    }

    /// Of a gateway of an account.
    pub fn of_gateway(account_id: &'a str) -> Self {
        Self { name: "gateway", zone_id: "", account_id }
    }
}

impl Serialize for ZoneLabel<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}
