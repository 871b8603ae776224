//! Social security numbers of Spain: province, number, modulo 97.

use super::Definition;
use crate::digits::{digits, number, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "es_nuss",
    summary: "Twelve digits whose last two are the rest of the others modulo 97.",
    validate,
    valid: &["281234567840", "45/83560339/36"],
    invalid: &["281234567841", "00/00000000/00"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let (Some(province), Some(serial)) = (digits.get(..2), digits.get(2..10)) else { return false };
    let serial = number(serial);
    // A serial number below ten million counts as one of seven digits.
    let factor = if serial < 10_000_000 { 10_000_000 } else { 100_000_000 };
    let number = number(province) * factor + serial;
    digits.len() == 12 && number > 0 && u64::from(pair(&digits, 10)) == number % 97
}
