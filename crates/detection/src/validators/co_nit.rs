//! Tax numbers of Colombia (NIT): a check digit by prime weights, modulo 11.

use super::Definition;
use crate::digits::digits;

pub(super) const DEFINITION: Definition = Definition {
    name: "co_nit",
    summary: "Eight to sixteen digits with a valid check digit.",
    validate,
    valid: &["213.123.432-1", "800197268-4"],
    invalid: &["213.123.432-2", "000.000.000-0"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let Some((check, rest)) = digits.split_last() else { return false };
    let weights = [3, 7, 13, 17, 19, 23, 29, 37, 41, 43, 47, 53, 59, 67, 71];
    let sum: u32 = rest.iter().rev().zip(weights).map(|(digit, weight)| digit * weight).sum();
    let expected = match sum % 11 {
        rest @ (0 | 1) => rest,
        rest => 11 - rest,
    };
    (8..=15).contains(&rest.len()) && sum > 0 && *check == expected
}
