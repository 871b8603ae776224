//! Tax file numbers of Australia: nine digits, modulo 11.

use super::Definition;
use crate::digits::{digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "au_tfn",
    summary: "Nine digits whose weighted sum is a multiple of 11.",
    validate,
    valid: &["123 456 782", "459016379"],
    invalid: &["123 456 783", "000 000 000"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[1, 4, 3, 7, 5, 8, 6, 9, 10]);
    digits.len() == 9 && sum > 0 && sum.is_multiple_of(11)
}
