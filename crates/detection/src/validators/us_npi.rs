//! National provider identifiers of the United States: ten digits with the Luhn digit of 80840 and themselves.

use super::Definition;
use crate::digits::{Digits, digits, luhn};

pub(super) const DEFINITION: Definition = Definition {
    name: "us_npi",
    summary: "Ten digits that begin with 1 or 2 with a valid check digit.",
    validate,
    valid: &["1234567893", "1446848560"],
    invalid: &["1234567894", "3234567893"],
};

fn validate(value: &[u8]) -> bool {
    let own = digits(value);
    let mut all: Digits = [8, 0, 8, 4, 0].into_iter().collect();
    all.extend(own.iter().copied());
    own.len() == 10 && matches!(own.first(), Some(1 | 2)) && luhn(&all)
}
