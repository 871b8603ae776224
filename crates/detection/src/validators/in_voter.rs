//! Elector photo identity card numbers of India: three letters and seven digits with a Luhn digit.

use super::Definition;
use crate::digits::{digits, luhn};

pub(super) const DEFINITION: Definition = Definition {
    name: "in_voter",
    summary: "Three letters and seven digits with a valid Luhn digit.",
    validate,
    valid: &["WKH1186253", "AAN8696197"],
    invalid: &["WKH1186254", "WK11186253"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    digits.len() == 7 && value.len() == 10 && luhn(&digits)
}
