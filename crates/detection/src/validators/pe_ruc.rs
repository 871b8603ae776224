//! Taxpayer numbers of Peru (RUC): eleven digits, modulo 11.

use super::Definition;
use crate::digits::{digits, pair, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "pe_ruc",
    summary: "Eleven digits of a known kind with a valid check digit.",
    validate,
    valid: &["20512333797", "10840616415"],
    invalid: &["20512333798", "30512333797"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]);
    let kind = matches!(pair(&digits, 0), 10 | 15 | 16 | 17 | 20);
    digits.len() == 11 && kind && digits.last() == Some(&((11 - sum % 11) % 10))
}
