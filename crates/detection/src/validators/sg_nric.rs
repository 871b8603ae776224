//! Identity numbers of Singapore (NRIC, FIN): a letter, seven digits, a letter of the sum modulo 11.

use super::Definition;
use crate::digits::{digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "sg_nric",
    summary: "Seven digits with a valid check letter.",
    validate,
    valid: &["S1234567D", "G2028770K", "F6712482X"],
    invalid: &["S1234567E", "A1234567D"],
};

fn validate(value: &[u8]) -> bool {
    let [kind, number @ .., check] = value else { return false };
    let offset = match kind {
        b'S' | b'F' => 0,
        b'T' | b'G' => 4,
        b'M' => 3,
        _ => return false,
    };
    let letters: &[u8; 11] = match kind {
        b'S' | b'T' => b"JZIHGFEDCBA",
        b'F' | b'G' => b"XWUTRQPNMLK",
        _ => b"XWUTRQPNJLK",
    };
    let digits = digits(number);
    let sum = offset + weighted(&digits, &[2, 7, 6, 5, 4, 3, 2]);
    digits.len() == 7 && number.len() == 7 && letters.get((sum % 11) as usize) == Some(check)
}
