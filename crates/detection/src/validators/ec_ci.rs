//! Identity numbers of Ecuador: province, kind, serial number, modulo 10.

use super::Definition;
use crate::digits::{digits, luhn, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "ec_ci",
    summary: "Ten digits of a province with a valid check digit.",
    validate,
    valid: &["1714307103", "0926687856"],
    invalid: &["1714307104", "9914307103"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let province = matches!(pair(&digits, 0), 1..=24 | 30);
    let kind = digits.get(2).is_some_and(|kind| *kind < 6);
    digits.len() == 10 && province && kind && luhn(&digits)
}
