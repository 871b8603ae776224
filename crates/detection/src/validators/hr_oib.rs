//! Personal identification numbers of Croatia (OIB): eleven digits, ISO 7064 MOD 11,10.

use super::Definition;
use crate::digits::{digits, is_uniform, mod_11_10};

pub(super) const DEFINITION: Definition = Definition {
    name: "hr_oib",
    summary: "Eleven digits with a valid check digit.",
    validate,
    valid: &["33392005961", "40499471413"],
    invalid: &["33392005962", "3339200596"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    digits.len() == 11 && !is_uniform(&digits) && mod_11_10(&digits)
}
