//! Hardware addresses (IEEE 802): six bytes that are neither all zero nor all one.

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "mac_address",
    summary: "Six pairs of hexadecimal digits that differ.",
    validate,
    valid: &["7e:9e:49:5f:d6:45", "D0-50-99-84-A2-A0"],
    invalid: &["00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"],
};

fn validate(value: &[u8]) -> bool {
    let digits: Vec<u8> =
        value.iter().filter(|byte| byte.is_ascii_hexdigit()).map(u8::to_ascii_lowercase).collect();
    digits.len() == 12 && digits.iter().any(|digit| Some(digit) != digits.first())
}
