//! Unique taxpayer references of the United Kingdom: a check digit and nine digits, modulo 11.

use super::Definition;
use crate::digits::{digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "uk_utr",
    summary: "Ten digits whose first is the check digit of the others.",
    validate,
    valid: &["1955839661", "58041 31881"],
    invalid: &["2955839661", "0000000000"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let Some((check, rest)) = digits.split_first().filter(|_| digits.len() == 10) else { return false };
    let sum = weighted(rest, &[6, 7, 8, 9, 10, 5, 4, 3, 2]);
    sum > 0 && [2, 1, 9, 8, 7, 6, 5, 4, 3, 2, 1].get((sum % 11) as usize) == Some(check)
}
