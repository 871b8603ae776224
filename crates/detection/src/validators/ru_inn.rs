//! Taxpayer numbers of Russia (INN) of persons: twelve digits, two of them check digits, modulo 11.

use super::Definition;
use crate::digits::{digits, is_uniform, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "ru_inn",
    summary: "Twelve digits with both check digits.",
    validate,
    valid: &["123456789047", "276143017998"],
    invalid: &["123456789037", "000000000000"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let first = weighted(&digits, &[7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11 % 10;
    let second = weighted(&digits, &[3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11 % 10;
    digits.len() == 12 && !is_uniform(&digits) && digits.ends_with(&[first, second])
}
