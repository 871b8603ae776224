//! Social security numbers of Greece (AMKA): date of birth, serial number, a Luhn digit.

use super::Definition;
use crate::digits::{digits, is_date, luhn, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "gr_amka",
    summary: "Eleven digits that begin with a day that was, with a valid Luhn digit.",
    validate,
    valid: &["01013099997", "14034578428"],
    invalid: &["01013099998", "32013099990"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    digits.len() == 11 && is_date(pair(&digits, 4), pair(&digits, 2), pair(&digits, 0)) && luhn(&digits)
}
