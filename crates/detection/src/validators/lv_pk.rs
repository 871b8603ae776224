//! Personal codes of Latvia: date of birth, century, serial number, modulo 11.

use super::Definition;
use crate::digits::{digits, is_date, pair, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "lv_pk",
    summary: "Eleven digits with a day that was and a valid check digit.",
    validate,
    valid: &["161175-19997", "060741-13233"],
    invalid: &["161175-19998", "161375-19997"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = 1 + weighted(&digits, &[10, 5, 8, 4, 2, 1, 6, 3, 7, 9]);
    let born = is_date(pair(&digits, 4), pair(&digits, 2), pair(&digits, 0));
    digits.len() == 11 && born && digits.last() == Some(&(sum % 11 % 10))
}
