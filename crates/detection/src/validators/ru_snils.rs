//! Pension insurance numbers of Russia (SNILS): nine digits, modulo 101.

use super::Definition;
use crate::digits::{digits, pair, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "ru_snils",
    summary: "Eleven digits whose last two are the weighted sum of the others modulo 101.",
    validate,
    valid: &["112-233-445 95", "891-839-848 88"],
    invalid: &["112-233-445 96", "000-000-000 00"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[9, 8, 7, 6, 5, 4, 3, 2, 1]);
    digits.len() == 11 && sum > 0 && pair(&digits, 9) == sum % 101 % 100
}
