//! Tax identification numbers of Hungary: ten digits from 8 on, modulo 11.

use super::Definition;
use crate::digits::{digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "hu_tax",
    summary: "Ten digits that begin with 8 with a valid check digit.",
    validate,
    valid: &["8807866269", "8632221396"],
    invalid: &["8807866268", "1807866269"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    digits.len() == 10 && digits.first() == Some(&8) && digits.last() == Some(&(sum % 11))
}
