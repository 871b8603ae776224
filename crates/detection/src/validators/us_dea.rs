//! Registration numbers of the US Drug Enforcement Administration: two letters, six digits, a check digit.

use super::Definition;
use crate::digits::{digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "us_dea",
    summary: "A letter of a registrant and seven digits with a valid check digit.",
    validate,
    valid: &["AB1234563", "FO1938921"],
    invalid: &["AB1234564", "ZB1234563"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[1, 2, 1, 2, 1, 2]);
    let registrant = value.first().is_some_and(|letter| b"ABCDEFGHJKLMPRSTUX".contains(letter));
    digits.len() == 7 && value.len() == 9 && registrant && digits.last() == Some(&(sum % 10))
}
