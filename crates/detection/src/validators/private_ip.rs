//! Private IPv4 addresses (RFC 1918).

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "private_ip",
    summary: "Four numbers up to 255 in 10/8, 172.16/12 or 192.168/16.",
    validate,
    valid: &["10.0.0.1", "172.31.255.255", "192.168.1.1"],
    invalid: &["172.32.0.1", "10.0.0.256", "192.169.1.1", "10.0.0", "10.01.0.1"],
};

fn validate(value: &[u8]) -> bool {
    let text = std::str::from_utf8(value).unwrap_or_default();
    text.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_private())
}
