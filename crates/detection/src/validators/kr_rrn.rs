//! Resident registration numbers of Korea: date of birth, sex and century, region, modulo 11.

use super::Definition;
use crate::digits::{digits, is_date, pair, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "kr_rrn",
    summary: "Thirteen digits with a day that was and a valid check digit.",
    validate,
    valid: &["971013-9019902", "770907-1094969"],
    invalid: &["971013-9019903", "971313-9019902"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]);
    let born = is_date(pair(&digits, 0), pair(&digits, 2), pair(&digits, 4));
    digits.len() == 13 && born && digits.last() == Some(&((11 - sum % 11) % 10))
}
