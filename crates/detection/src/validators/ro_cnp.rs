//! Personal numeric codes of Romania: sex and century, date of birth, county, modulo 11.

use super::Definition;
use crate::digits::{digits, is_date, pair, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "ro_cnp",
    summary: "Thirteen digits with a day that was, a county and a valid check digit.",
    validate,
    valid: &["1630615123457", "2550801311247"],
    invalid: &["1630615123458", "1631315123457"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]);
    let check = if sum % 11 == 10 { 1 } else { sum % 11 };
    let born = is_date(pair(&digits, 1), pair(&digits, 3), pair(&digits, 5));
    let county = matches!(pair(&digits, 7), 1..=48 | 51 | 52 | 70 | 80..=83);
    digits.len() == 13 && digits.first() != Some(&0) && born && county && digits.last() == Some(&check)
}
