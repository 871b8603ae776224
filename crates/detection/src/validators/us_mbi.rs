//! Medicare beneficiary identifiers of the United States: eleven characters of a fixed order, without S, L, O, I, B and Z.

use super::Definition;
use crate::digits::compact;

pub(super) const DEFINITION: Definition = Definition {
    name: "us_mbi",
    summary: "Eleven characters, each a digit or a letter where it must be.",
    validate,
    valid: &["1EG4-TE5-MK73", "5PR3HU9UH40"],
    invalid: &["1SG4-TE5-MK73", "0EG4-TE5-MK73", "1EG4-TE5-M573"],
};

fn validate(value: &[u8]) -> bool {
    let value = compact(value);
    let letter = |byte: &u8| byte.is_ascii_uppercase() && !b"SLOIBZ".contains(byte);
    let fits = |(at, byte): (usize, &u8)| match at {
        0 => (b'1'..=b'9').contains(byte),
        1 | 4 | 7 | 8 => letter(byte),
        2 | 5 => letter(byte) || byte.is_ascii_digit(),
        _ => byte.is_ascii_digit(),
    };
    value.len() == 11 && value.iter().enumerate().all(fits)
}
