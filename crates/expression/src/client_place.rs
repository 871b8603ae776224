//! Where clients are, as far as an operator's databases say.

use std::net::IpAddr;

/// What is known of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientPlace {
    /// Two capital letters (ISO 3166).
    pub country: Option<String>,
    /// Two capital letters.
    pub continent: Option<String>,
    /// The number of the autonomous system that announces it.
    pub asn: Option<u32>,
}

/// What databases say of addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaceKinds {
    /// Their countries and continents.
    pub countries: bool,
    /// Their autonomous systems.
    pub asns: bool,
}

/// Databases of addresses.
pub trait PlaceSource: Send + Sync {
    fn find(&self, address: IpAddr) -> ClientPlace;
}
