//! Ethereum addresses: 20 bytes in hexadecimal, the case of letters being a checksum if it is mixed (EIP-55).

use sha3::{Digest, Keccak256};

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "ethereum_address",
    summary: "Forty hexadecimal digits behind 0x; letters of one case, or of the cases that Keccak-256 says.",
    validate,
    valid: &["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359"],
    invalid: &[
        "0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeA",
        "0x0000000000000000000000000000000000000000",
    ],
};

fn validate(value: &[u8]) -> bool {
    let Some(digits) = value.strip_prefix(b"0x").filter(|digits| digits.len() == 40) else { return false };
    let mixed = digits.iter().any(u8::is_ascii_uppercase) && digits.iter().any(u8::is_ascii_lowercase);
    let uniform = digits.iter().all(|digit| Some(digit) == digits.first());
    digits.iter().all(u8::is_ascii_hexdigit) && !uniform && (!mixed || is_checked(digits))
}

/// Each letter is a capital if the hash of the small digits has a half byte of 8 and more.
fn is_checked(digits: &[u8]) -> bool {
    let hash = Keccak256::digest(digits.to_ascii_lowercase());
    let halves = hash.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .iter()
        .zip(halves)
        .all(|(digit, half)| !digit.is_ascii_alphabetic() || digit.is_ascii_uppercase() == (half > 7))
}
