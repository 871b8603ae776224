//! Identity numbers of the United Arab Emirates: 784, the year of birth, seven digits, a Luhn digit.

use super::Definition;
use crate::digits::{digits, luhn, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "ae_emirates_id",
    summary: "Fifteen digits that begin with 784 and a year, with a valid Luhn digit.",
    validate,
    valid: &["784-1955-0998529-7", "784-1986-7604579-6"],
    invalid: &["784-1955-0998529-8", "785-1955-0998529-7", "784-1755-0998529-5"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let year = pair(&digits, 3);
    digits.len() == 15 && digits.starts_with(&[7, 8, 4]) && matches!(year, 19 | 20) && luhn(&digits)
}
