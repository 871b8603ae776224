//! Tax numbers of Portugal (NIF): nine digits, modulo 11.

use super::Definition;
use crate::digits::{complement, digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "pt_nif",
    summary: "Nine digits with a valid check digit.",
    validate,
    valid: &["501964843", "263 445 038"],
    invalid: &["501964842", "001964843"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[9, 8, 7, 6, 5, 4, 3, 2]);
    let check = complement(sum, 11) % 10;
    digits.len() == 9 && digits.first() != Some(&0) && digits.last() == Some(&check)
}
