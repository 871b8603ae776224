//! Identity numbers of Poland (PESEL): date of birth, serial number, weights 1-3-7-9 modulo 10.

use super::Definition;
use crate::digits::{digits, is_date, pair, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "pl_pesel",
    summary: "Eleven digits with a day that was and a valid check digit.",
    validate,
    valid: &["44051401359", "94091589753"],
    invalid: &["44051401358", "44131401359"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]);
    let (month, century) = match pair(&digits, 2) {
        month @ 81..=92 => (month - 80, 1800),
        month @ 21..=32 => (month - 20, 2000),
        month @ 41..=52 => (month - 40, 2100),
        month => (month, 1900),
    };
    let born = is_date(century + pair(&digits, 0), month, pair(&digits, 4));
    digits.len() == 11 && born && sum.is_multiple_of(10)
}
