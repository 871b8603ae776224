//! Tax numbers of Spanish companies (CIF): a letter, seven digits, a check digit or letter.

use super::Definition;
use crate::digits::{compact, digits, luhn_check};

pub(super) const DEFINITION: Definition = Definition {
    name: "es_cif",
    summary: "A letter of a legal form and seven digits with a valid check character.",
    validate,
    valid: &["J99216582", "A58818501", "B64717838"],
    invalid: &["J99216583", "I99216582"],
};

fn validate(value: &[u8]) -> bool {
    let value = compact(value);
    let [letter, middle @ .., check] = value.as_slice() else { return false };
    let digits = digits(middle);
    let control = luhn_check(&digits);
    let as_digit = u32::from(check.wrapping_sub(b'0')) == control;
    let as_letter = b"JABCDEFGHI".get(control as usize) == Some(check);
    let sound = match letter {
        b'A' | b'B' | b'E' | b'H' => as_digit,
        b'K' | b'P' | b'Q' | b'S' | b'N' | b'R' | b'W' => as_letter,
        b'C' | b'D' | b'F' | b'G' | b'J' | b'U' | b'V' => as_digit || as_letter,
        _ => false,
    };
    digits.len() == 7 && middle.len() == 7 && sound
}
