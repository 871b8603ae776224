//! Taxpayer numbers of Brazil (CPF): eleven digits, two of them check digits, modulo 11.

use super::Definition;
use crate::detection::digits::{digits, is_uniform, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "br_cpf",
    summary: "Eleven digits, not all the same, with both check digits.",
    validate,
    valid: &["390.533.447-05", "708.328.172-60"],
    invalid: &["390.533.447-06", "111.111.111-11"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let first = check(weighted(&digits, &[10, 9, 8, 7, 6, 5, 4, 3, 2]));
    let second = check(weighted(&digits, &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2]));
    digits.len() == 11 && !is_uniform(&digits) && digits.ends_with(&[first, second])
}

fn check(sum: u32) -> u32 {
    match sum % 11 {
        0 | 1 => 0,
        rest => 11 - rest,
    }
}
