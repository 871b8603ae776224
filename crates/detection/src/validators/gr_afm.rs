//! Tax numbers of Greece (AFM): nine digits, powers of two modulo 11.

use super::Definition;
use crate::digits::{digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "gr_afm",
    summary: "Nine digits with a valid check digit.",
    validate,
    valid: &["094259216", "268181143"],
    invalid: &["094259217", "000000000"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[256, 128, 64, 32, 16, 8, 4, 2]);
    digits.len() == 9 && sum > 0 && digits.last() == Some(&(sum % 11 % 10))
}
