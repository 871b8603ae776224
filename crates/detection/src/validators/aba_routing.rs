//! Routing transit numbers (American Bankers Association): nine digits, weights 3-7-1 modulo 10.

use super::Definition;
use crate::digits::{digits, pair, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "aba_routing",
    summary: "Nine digits of an issued prefix whose weighted sum is a multiple of ten.",
    validate,
    valid: &["021000021", "011401533", "091000019"],
    invalid: &["021000022", "000000000", "991000019"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let prefix = pair(&digits, 0);
    let issued = matches!(prefix, 0..=12 | 21..=32 | 61..=72 | 80);
    let sum = weighted(&digits, &[3, 7, 1, 3, 7, 1, 3, 7, 1]);
    digits.len() == 9 && issued && sum > 0 && sum.is_multiple_of(10)
}
