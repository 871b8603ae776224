//! Identity numbers of the Dominican Republic: eleven digits with a Luhn digit.

use super::Definition;
use crate::digits::{digits, is_uniform, luhn};

pub(super) const DEFINITION: Definition = Definition {
    name: "do_cedula",
    summary: "Eleven digits with a valid Luhn digit.",
    validate,
    valid: &["001-1391820-5", "068-0899849-3"],
    invalid: &["001-1391820-6", "000-0000000-0"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    digits.len() == 11 && !is_uniform(&digits) && luhn(&digits)
}
