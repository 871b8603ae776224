//! Aadhaar numbers of India: twelve digits from 2 on, with a Verhoeff digit.

use super::Definition;
use crate::digits::{digits, verhoeff};

pub(super) const DEFINITION: Definition = Definition {
    name: "in_aadhaar",
    summary: "Twelve digits that begin with 2 to 9 with a valid Verhoeff digit.",
    validate,
    valid: &["2341 2341 2346", "5106 5003 3782"],
    invalid: &["2341 2341 2347", "1341 2341 2346"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    digits.len() == 12 && digits.first().is_some_and(|first| *first > 1) && verhoeff(&digits)
}
