//! Identity card numbers of Malaysia: date of birth, place, serial number.

use super::Definition;
use crate::digits::{digits, is_date, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "my_nric",
    summary: "Twelve digits with a day that was and a place that has a code.",
    validate,
    valid: &["770305-02-1234", "540301096411"],
    invalid: &["771305-02-1234", "770305-00-1234", "870229875542"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let place = !matches!(pair(&digits, 6), 0 | 17..=20 | 69 | 70 | 73 | 80 | 81 | 94..=97);
    let year = pair(&digits, 0);
    digits.len() == 12 && place && is_date(year, pair(&digits, 2), pair(&digits, 4))
}
