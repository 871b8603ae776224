//! National health index numbers of New Zealand (HISO 10046): three letters, four digits, modulo 11.

use super::Definition;
use crate::digits::{Digits, digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "nz_nhi",
    summary: "Three letters without I and O and four digits with a valid check digit.",
    validate,
    valid: &["ZZZ0016", "JBX3656"],
    invalid: &["ZZZ0017", "IZZ0016"],
};

fn validate(value: &[u8]) -> bool {
    const LETTERS: &[u8; 24] = b"ABCDEFGHJKLMNPQRSTUVWXYZ";
    let rank = |byte: &u8| {
        LETTERS.iter().position(|letter| letter == byte).and_then(|at| u32::try_from(at + 1).ok())
    };
    let Some((letters, number)) = value.split_at_checked(3) else { return false };
    let Some(mut symbols) = letters.iter().map(rank).collect::<Option<Digits>>() else { return false };
    symbols.extend(digits(number));
    let rest = weighted(&symbols, &[7, 6, 5, 4, 3, 2]) % 11;
    symbols.len() == 7 && rest > 0 && symbols.last() == Some(&((11 - rest) % 10))
}
