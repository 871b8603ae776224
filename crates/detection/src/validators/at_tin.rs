//! Tax account numbers of Austria: nine digits, each second doubled, modulo 10.

use super::Definition;
use crate::digits::{digits, luhn, number};

pub(super) const DEFINITION: Definition = Definition {
    name: "at_tin",
    summary: "Nine digits with a valid check digit.",
    validate,
    valid: &["59-119/9013"],
    invalid: &["59-119/9012", "000000000"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    digits.len() == 9 && number(&digits) > 0 && luhn(&digits)
}
