//! Identity numbers of Israel: nine digits with a Luhn digit.

use super::Definition;
use crate::digits::{digits, is_uniform, luhn};

pub(super) const DEFINITION: Definition = Definition {
    name: "il_id",
    summary: "Nine digits, not all the same, with a valid Luhn digit.",
    validate,
    valid: &["039337423", "913914123"],
    invalid: &["039337424", "000000000"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    digits.len() == 9 && !is_uniform(&digits) && luhn(&digits)
}
