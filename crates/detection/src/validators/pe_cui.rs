//! Identity numbers of Peru (DNI): eight digits and a check digit or letter, modulo 11.

use super::Definition;
use crate::digits::{compact, digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "pe_cui",
    summary: "Eight digits with a valid check character.",
    validate,
    valid: &["10117410-2", "10117410-G"],
    invalid: &["10117410-3", "108125H3-3"],
};

fn validate(value: &[u8]) -> bool {
    let value = compact(value);
    let Some((check, rest)) = value.split_last().filter(|_| value.len() == 9) else { return false };
    let digits = digits(rest);
    let place = (weighted(&digits, &[3, 2, 7, 6, 5, 4, 3, 2]) % 11) as usize;
    let holds = |row: &[u8; 11]| row.get(place) == Some(check);
    digits.len() == 8 && (holds(b"65432110987") || holds(b"KJIHGFEDCBA"))
}
