//! Tax numbers of Venezuela (RIF): a letter, eight digits, a check digit, modulo 11.

use super::Definition;
use crate::digits::{complement, digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "ve_rif",
    summary: "A letter of a kind and eight digits with a valid check digit.",
    validate,
    valid: &["V-11470283-4", "J-18169756-2"],
    invalid: &["V-11470283-3", "A-11470283-4"],
};

fn validate(value: &[u8]) -> bool {
    let kind = match value.first() {
        Some(b'V') => 4,
        Some(b'E') => 8,
        Some(b'J' | b'C') => 12,
        Some(b'P') => 16,
        Some(b'G') => 20,
        _ => return false,
    };
    let digits = digits(value);
    let sum = kind + weighted(&digits, &[3, 2, 7, 6, 5, 4, 3, 2]);
    let check = complement(sum, 11) % 10;
    digits.len() == 9 && digits.last() == Some(&check)
}
