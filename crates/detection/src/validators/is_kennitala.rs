//! Identity numbers of Iceland: date of birth, serial number, check digit, century.

use super::Definition;
use crate::digits::{digits, is_date, pair, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "is_kennitala",
    summary: "Ten digits with a day that was and a valid check digit; companies add 40 to the day.",
    validate,
    valid: &["450401-3150", "120174-3399", "1412564329"],
    invalid: &["450401-3160", "321256-4329"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[3, 2, 7, 6, 5, 4, 3, 2, 1]);
    let day = pair(&digits, 0);
    let day = if day > 40 { day - 40 } else { day };
    let born = is_date(pair(&digits, 4), pair(&digits, 2), day);
    digits.len() == 10 && born && sum.is_multiple_of(11) && matches!(digits.last(), Some(0 | 8 | 9))
}
