//! Civil numbers of Bulgaria (EGN): date of birth, serial number, modulo 11.

use super::Definition;
use crate::digits::{digits, is_date, pair, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "bg_egn",
    summary: "Ten digits with a day that was and a valid check digit.",
    validate,
    valid: &["7523169263", "8032056031"],
    invalid: &["7523169264", "7599169263"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let (month, century) = match pair(&digits, 2) {
        month @ 21..=32 => (month - 20, 1800),
        month @ 41..=52 => (month - 40, 2000),
        month => (month, 1900),
    };
    let check = weighted(&digits, &[2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11 % 10;
    let born = is_date(century + pair(&digits, 0), month, pair(&digits, 4));
    digits.len() == 10 && born && digits.last() == Some(&check)
}
