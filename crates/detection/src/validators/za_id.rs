//! Identity numbers of South Africa: date of birth, serial number, citizenship, a Luhn digit.

use super::Definition;
use crate::digits::{digits, is_date, luhn, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "za_id",
    summary: "Thirteen digits with a day that was and a valid Luhn digit.",
    validate,
    valid: &["7503305044089", "7706033137089"],
    invalid: &["7503305044088", "7513305044089", "7503305044389"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let born = is_date(pair(&digits, 0), pair(&digits, 2), pair(&digits, 4));
    digits.len() == 13 && born && matches!(digits.get(10), Some(0..=2)) && luhn(&digits)
}
