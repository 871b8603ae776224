//! Birth numbers of Norway: date of birth, serial number, two check digits, modulo 11.

use super::Definition;
use crate::digits::{digits, is_date, pair, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "no_fnr",
    summary: "Eleven digits with a day that was, 40 more for D numbers, and both check digits.",
    validate,
    valid: &["15108695088", "110305 72035"],
    invalid: &["15108695087", "15138695088"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let (day, month) = (pair(&digits, 0), pair(&digits, 2));
    let day = if day > 40 { day - 40 } else { day };
    let month = if month > 40 { month - 40 } else { month };
    let first = weighted(&digits, &[3, 7, 6, 1, 8, 9, 4, 5, 2, 1]);
    let second = weighted(&digits, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]);
    let sound = first.is_multiple_of(11) && second.is_multiple_of(11);
    digits.len() == 11 && sound && is_date(pair(&digits, 4), month, day)
}
