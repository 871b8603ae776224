//! Payment card numbers (ISO/IEC 7812-1): length by issuer range, Luhn check digit.

use super::Definition;
use crate::digits::{digits, luhn_of_text};

pub(super) const DEFINITION: Definition = Definition {
    name: "card",
    summary: "A card number of a known issuer range whose Luhn digit holds.",
    validate,
    valid: &[
        "4111 1111 1111 1111",
        "5555-5555-5555-4444",
        "378282246310005",
        "2223003122003222",
        "3530111333300000",
    ],
    invalid: &["4111 1111 1111 1112", "1111 1111 1111 1117", "0000 0000 0000 0000", "41111111"],
};

/// Prefix ranges of the issuers, with the lengths they issue. Sources: each network's public
/// identification ranges.
const ISSUERS: &[(u32, u32, &[usize])] = &[
    (400_000, 499_999, &[13, 16, 19]),
    (510_000, 559_999, &[16]),
    (222_100, 272_099, &[16]),
    (340_000, 349_999, &[15]),
    (370_000, 379_999, &[15]),
    (601_100, 601_199, &[16, 19]),
    (644_000, 659_999, &[16, 19]),
    (352_800, 358_999, &[16, 17, 18, 19]),
    (300_000, 305_999, &[14]),
    (360_000, 369_999, &[14]),
    (380_000, 399_999, &[14, 16]),
    (620_000, 629_999, &[16, 17, 18, 19]),
    (220_000, 220_499, &[16, 17, 18, 19]),
    (500_000, 509_999, &[12, 13, 14, 15, 16, 17, 18, 19]),
    (560_000, 589_999, &[12, 13, 14, 15, 16, 17, 18, 19]),
    (630_400, 630_499, &[16, 17, 18, 19]),
    (639_000, 639_099, &[16, 17, 18, 19]),
    (670_000, 679_999, &[12, 13, 14, 15, 16, 17, 18, 19]),
];

fn validate(value: &[u8]) -> bool {
    if !luhn_of_text(value) {
        return false;
    }
    let digits = digits(value);
    let prefix = digits.iter().take(6).fold(0, |n, digit| n * 10 + digit);
    ISSUERS
        .iter()
        .any(|(first, last, lengths)| (*first..=*last).contains(&prefix) && lengths.contains(&digits.len()))
}
