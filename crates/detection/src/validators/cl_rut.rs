//! Tax numbers of Chile (RUT): seven or eight digits and a check character, modulo 11.

use super::Definition;
use crate::digits::{compact, digits};

pub(super) const DEFINITION: Definition = Definition {
    name: "cl_rut",
    summary: "A number with a valid check character, 0 to 9 or K.",
    validate,
    valid: &["12.531.909-2", "76086428-5", "13.850.447-6"],
    invalid: &["12.531.909-3", "00.000.000-0"],
};

fn validate(value: &[u8]) -> bool {
    let value = compact(value);
    let Some((check, rest)) = value.split_last() else { return false };
    let digits = digits(rest);
    let sum: u32 = digits.iter().rev().zip((2..=7).cycle()).map(|(digit, weight)| digit * weight).sum();
    let expected = match 11 - sum % 11 {
        11 => b'0',
        10 => b'K',
        check => b'0' + u8::try_from(check).unwrap_or(0),
    };
    matches!(digits.len(), 7 | 8) && sum > 0 && check.to_ascii_uppercase() == expected
}
