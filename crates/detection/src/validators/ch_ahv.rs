//! Social insurance numbers of Switzerland: thirteen digits from 756 on, with the check digit of EAN-13.

use super::Definition;
use crate::digits::{digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "ch_ahv",
    summary: "Thirteen digits that begin with 756 with a valid check digit.",
    validate,
    valid: &["756.9217.0769.85", "756.1234.5678.97"],
    invalid: &["756.9217.0769.84", "757.9217.0769.85"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]);
    digits.len() == 13 && digits.starts_with(&[7, 5, 6]) && sum.is_multiple_of(10)
}
