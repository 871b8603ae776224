//! Citizen service numbers of the Netherlands: nine digits, modulo 11.

use super::Definition;
use crate::digits::{digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "nl_bsn",
    summary: "Nine digits that hold the eleven test.",
    validate,
    valid: &["111222333", "260590149"],
    invalid: &["111222334", "000000000"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let Some((check, rest)) = digits.split_last().filter(|_| digits.len() == 9) else { return false };
    let sum = weighted(rest, &[9, 8, 7, 6, 5, 4, 3, 2]);
    sum > 0 && sum % 11 == *check
}
