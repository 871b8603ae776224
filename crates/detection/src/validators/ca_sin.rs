//! Social insurance numbers of Canada: nine digits with a Luhn digit.

use super::Definition;
use crate::digits::{digits, luhn};

pub(super) const DEFINITION: Definition = Definition {
    name: "ca_sin",
    summary: "Nine digits that begin with neither 0 nor 8, with a valid Luhn digit.",
    validate,
    valid: &["193-456-787", "596 643 288"],
    invalid: &["193-456-788", "046-454-286"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    digits.len() == 9 && !matches!(digits.first(), Some(0 | 8)) && luhn(&digits)
}
