//! Citizen card numbers of Portugal: nine digits, two characters, a check digit, Luhn in base 36.

use super::Definition;
use crate::digits::base_36;

pub(super) const DEFINITION: Definition = Definition {
    name: "pt_cc",
    summary: "Twelve characters with a valid check digit.",
    validate,
    valid: &["000000000ZZ4", "613822450XZ9"],
    invalid: &["000000000ZZ5", "00000000ZZ4"],
};

fn validate(value: &[u8]) -> bool {
    let symbols = base_36(value);
    let doubled = |symbol: u32| if symbol * 2 > 9 { symbol * 2 - 9 } else { symbol * 2 };
    let sum: u32 =
        symbols.iter().rev().enumerate().map(|(at, s)| if at % 2 == 0 { *s } else { doubled(*s) }).sum();
    symbols.len() == 12 && sum.is_multiple_of(10)
}
