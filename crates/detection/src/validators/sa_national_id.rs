//! Identity numbers of Saudi Arabia: ten digits from 1 or 2 on, with a Luhn digit.

use super::Definition;
use crate::digits::{digits, luhn};

pub(super) const DEFINITION: Definition = Definition {
    name: "sa_national_id",
    summary: "Ten digits that begin with 1 or 2 with a valid Luhn digit.",
    validate,
    valid: &["1101798278", "2296617497"],
    invalid: &["1101798279", "3101798278"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    digits.len() == 10 && matches!(digits.first(), Some(1 | 2)) && luhn(&digits)
}
