//! Tax numbers of Andorra (NRT): a letter of the kind of taxpayer, six digits, a letter.

use super::Definition;
use crate::digits::{compact, digits, number as as_number};

pub(super) const DEFINITION: Definition = Definition {
    name: "ad_nrt",
    summary: "A letter of a kind, six digits of its range and a letter.",
    validate,
    valid: &["U-132950-X", "F-123456-Z"],
    invalid: &["A1234567", "X-132950-X", "F-800000-Z"],
};

fn validate(value: &[u8]) -> bool {
    let value = compact(value);
    let [kind, number @ .., check] = value.as_slice() else { return false };
    let digits = digits(number);
    let range = match kind {
        b'F' => as_number(&digits) < 700_000,
        b'A' | b'L' => (700_000..800_000).contains(&as_number(&digits)),
        b'C' | b'D' | b'E' | b'G' | b'O' | b'P' | b'U' => true,
        _ => false,
    };
    digits.len() == 6 && number.len() == 6 && range && check.is_ascii_uppercase()
}
