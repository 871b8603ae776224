//! Taxpayer numbers of Brazil (CPF): eleven digits, two of them check digits, modulo 11.

use super::Definition;
use crate::digits::{complement, digits, is_uniform, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "br_cpf",
    summary: "Eleven digits, not all the same, with both check digits.",
    validate,
    valid: &["390.533.447-05", "708.328.172-60"],
    invalid: &["390.533.447-06", "111.111.111-11"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let first = complement(weighted(&digits, &[10, 9, 8, 7, 6, 5, 4, 3, 2]), 11) % 10;
    let second = complement(weighted(&digits, &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2]), 11) % 10;
    digits.len() == 11 && !is_uniform(&digits) && digits.ends_with(&[first, second])
}
