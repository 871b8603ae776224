//! Identity numbers of Thailand: thirteen digits, modulo 11.

use super::Definition;
use crate::digits::{digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "th_pin",
    summary: "Thirteen digits that begin with 1 to 8 with a valid check digit.",
    validate,
    valid: &["3100600445635", "1140946530073"],
    invalid: &["3100600445636", "0234545678781"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]);
    digits.len() == 13
        && matches!(digits.first(), Some(1..=8))
        && digits.last() == Some(&((11 - sum % 11) % 10))
}
