//! Magnetic stripe data (ISO/IEC 7813): track 1 and 2 with a card number and an expiry date.

use super::Definition;
use crate::digits::{Digits, digits, luhn, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "card_track",
    summary: "A track whose card number has a valid Luhn digit and whose expiry names a month.",
    validate,
    valid: &["%B4111111111111111^DOE/JOHN^29121011000000000000?", ";4111111111111111=29121011000000000000?"],
    invalid: &[
        "%B4111111111111112^DOE/JOHN^29121011000000000000?",
        ";4111111111111111=29131011000000000000?",
    ],
};

fn validate(value: &[u8]) -> bool {
    let number: Digits = digits(value.split(|byte| matches!(byte, b'^' | b'=')).next().unwrap_or(&[]));
    let expiry = value.rsplit(|byte| matches!(byte, b'^' | b'=')).next().map(digits).unwrap_or_default();
    (12..=19).contains(&number.len()) && luhn(&number) && (1..=12).contains(&pair(&expiry, 2))
}
