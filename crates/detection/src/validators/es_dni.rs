//! Identity numbers of Spain (DNI, NIE): a number and the letter of its rest modulo 23.

use super::Definition;
use crate::digits::{compact, digits, number};

pub(super) const DEFINITION: Definition = Definition {
    name: "es_dni",
    summary: "Eight digits, or X, Y or Z and seven digits, with a valid letter.",
    validate,
    valid: &["54362315K", "X-2482300-W", "Z7448697Z"],
    invalid: &["54362315Z", "X-2482300-A"],
};

fn validate(value: &[u8]) -> bool {
    const LETTERS: &[u8; 23] = b"TRWAGMYFPDXBNJZSQVHLCKE";
    let value = compact(value);
    let Some((check, rest)) = value.split_last() else { return false };
    let (first, tail) = match rest.first() {
        Some(letter @ b'X'..=b'Z') => (u64::from(letter - b'X'), rest.get(1..).unwrap_or(&[])),
        _ => (0, rest),
    };
    let tail = digits(tail);
    let number = first * 10_000_000 + number(&tail);
    rest.len() == 8 && tail.len() >= 7 && LETTERS.get((number % 23) as usize) == Some(check)
}
