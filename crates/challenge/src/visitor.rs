//! Who a challenge is for, and what for.

use std::net::{IpAddr, Ipv6Addr};

use sha2::{Digest, Sha256};

/// Who solves a puzzle, as far as can be seen. Of the address the network counts (24 bits of IPv4, 64 of IPv6), because
/// providers move their clients about in it.
#[derive(Clone, Copy, Debug)]
pub struct Visitor<'v> {
    /// The id of the zone.
    pub zone: &'v str,
    pub address: IpAddr,
    /// The field `User-Agent` as it came; empty if there is none.
    pub user_agent: &'v [u8],
}

impl Visitor<'_> {
    /// The network of the address.
    pub fn network(&self) -> [u8; 16] {
        match self.address {
            IpAddr::V4(address) => {
                let [a, b, c, _] = address.octets();
                std::net::Ipv4Addr::new(a, b, c, 0).to_ipv6_mapped().octets()
            }
            IpAddr::V6(address) => match address.to_ipv4_mapped() {
                Some(mapped) => Self { address: mapped.into(), ..*self }.network(),
                None => {
                    let [a, b, c, d, ..] = address.segments();
                    Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).octets()
                }
            },
        }
    }
}

/// What a puzzle is solved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClearanceScope([u8; 16]);

impl ClearanceScope {
    /// Everything of the zone.
    pub const ZONE: Self = Self([0; 16]);

    /// Requests of one method for one target (path and query).
    pub fn request(method: &[u8], target: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update((method.len() as u64).to_be_bytes());
        hash.update(method);
        hash.update(target);
        // INVARIANT: a hash has 32 bytes.
        Self(hash.finalize().first_chunk().copied().unwrap_or([0xff; 16]))
    }

    pub(crate) fn of_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_address_the_network_counts() {
        let network =
            |text: &str| Visitor { zone: "", address: text.parse().unwrap(), user_agent: b"" }.network();
        for (a, b, is_same) in [
            ("192.0.2.1", "192.0.2.254", true),
            ("192.0.2.1", "192.0.3.1", false),
            ("192.0.2.1", "::ffff:192.0.2.9", true),
            ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true),
            ("2001:db8:1:2::1", "2001:db8:1:3::1", false),
            ("192.0.2.1", "2001:db8::", false),
        ] {
            assert_eq!(network(a) == network(b), is_same, "{a} {b}");
        }
    }

    #[test]
    fn a_scope_is_of_one_method_and_one_target() {
        let scope = ClearanceScope::request(b"GET", b"/a?b");
        assert_eq!(scope, ClearanceScope::request(b"GET", b"/a?b"));
        for (method, target) in [("POST", "/a?b"), ("GET", "/a"), ("GET/", "a?b")] {
            assert_ne!(scope, ClearanceScope::request(method.as_bytes(), target.as_bytes()));
        }
        assert_ne!(scope, ClearanceScope::ZONE);
    }
}
