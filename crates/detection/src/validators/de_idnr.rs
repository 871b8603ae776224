//! Tax identification numbers of Germany: eleven digits, ISO 7064 MOD 11,10.

use super::Definition;
use crate::digits::{digits, mod_11_10};

pub(super) const DEFINITION: Definition = Definition {
    name: "de_idnr",
    summary: "Eleven digits, one of the first ten two or three times among them, with a valid check digit.",
    validate,
    valid: &["36 574 261 809", "86095742719"],
    invalid: &["36 574 261 890", "11111111111", "12345678903"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let Some(body) = digits.get(..10).filter(|_| digits.len() == 11) else { return false };
    let count = |digit: u32| body.iter().filter(|other| **other == digit).count();
    let repeated: Vec<usize> = (0..10).map(count).filter(|count| *count > 1).collect();
    digits.first() != Some(&0) && matches!(repeated.as_slice(), [2 | 3]) && mod_11_10(&digits)
}
