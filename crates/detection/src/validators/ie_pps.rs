//! Personal public service numbers of Ireland: seven digits and one or two letters, modulo 23.

use super::Definition;
use crate::digits::{compact, digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "ie_pps",
    summary: "Seven digits with a valid check letter.",
    validate,
    valid: &["6433435F", "4357190TA"],
    invalid: &["6433435E", "6433435"],
};

fn validate(value: &[u8]) -> bool {
    let value = compact(value);
    let (number, letters) = value.split_at_checked(7).unwrap_or((&[], &[]));
    let digits = digits(number);
    let (check, second) = match letters {
        [check] => (check, 0),
        // W stood for the wives of old, and counts as nothing.
        [check, b'W'] => (check, 0),
        [check, second @ b'A'..=b'I'] => (check, u32::from(second - b'A' + 1)),
        _ => return false,
    };
    let sum = weighted(&digits, &[8, 7, 6, 5, 4, 3, 2]) + 9 * second;
    digits.len() == 7 && b"WABCDEFGHIJKLMNOPQRSTUV".get((sum % 23) as usize) == Some(check)
}
