//! Civil registration numbers of Denmark (CPR): date of birth and serial number.

use super::Definition;
use crate::digits::{digits, is_date, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "dk_cpr",
    summary: "Ten digits that begin with a day that was.",
    validate,
    valid: &["211062-5629", "0102034567"],
    invalid: &["311162-5629", "0002034567"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    digits.len() == 10 && is_date(pair(&digits, 4), pair(&digits, 2), pair(&digits, 0))
}
