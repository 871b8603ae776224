//! Employer identification numbers of the United States: a prefix of a campus and seven digits.

use super::Definition;
use crate::digits::{digits, is_uniform, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "us_ein",
    summary: "Nine digits with a prefix that is assigned.",
    validate,
    valid: &["33-5484783", "98-3061024"],
    invalid: &["07-1234567", "00-1234567", "12-0000000"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let campus = matches!(pair(&digits, 0), 1..=6 | 10..=16 | 20..=27 | 30..=48 | 50..=68 | 71..=77 | 80..=88 | 90..=95 | 98 | 99);
    digits.len() == 9 && campus && digits.get(2..).is_some_and(|serial| !is_uniform(serial))
}
