//! Personal identity numbers of Sweden: date of birth, serial number, a Luhn digit.

use super::Definition;
use crate::digits::{digits, is_date, luhn, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "se_personnummer",
    summary: "Ten or twelve digits with a day that was, 60 more for coordination numbers, and a valid Luhn digit.",
    validate,
    valid: &["880320-0016", "19880320-0016", "7208178934"],
    invalid: &["880320-0018", "881320-0016"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let digits = digits.len().checked_sub(10).and_then(|at| digits.get(at..)).unwrap_or(&[]);
    let day = pair(digits, 4);
    let day = if day > 60 { day - 60 } else { day };
    digits.len() == 10 && is_date(pair(digits, 0), pair(digits, 2), day) && luhn(digits)
}
