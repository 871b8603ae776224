//! Social insurance numbers of Austria: three digits, a check digit, the date of birth.

use super::Definition;
use crate::digits::{digits, pair, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "at_svnr",
    summary: "Ten digits whose fourth is the weighted sum of the others modulo 11.",
    validate,
    valid: &["1237 010180", "5718311070"],
    invalid: &["1238 010180", "2237 010180"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[3, 7, 9, 0, 5, 8, 4, 2, 1, 6]) % 11;
    digits.len() == 10 && digits.first() != Some(&0) && digits.get(3) == Some(&sum) && pair(&digits, 4) <= 31
}
