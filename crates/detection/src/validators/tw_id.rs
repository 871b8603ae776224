//! Identity numbers of Taiwan: a letter of the place, nine digits, modulo 10.

use super::Definition;
use crate::digits::{digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "tw_id",
    summary: "A letter and nine digits with a valid check digit.",
    validate,
    valid: &["A123456789", "N285937420", "R173962021"],
    invalid: &["A123456780", "A323456789"],
};

fn validate(value: &[u8]) -> bool {
    // The numbers of the places that letters stand for are not those of the alphabet.
    const PLACES: &[u8; 26] = b"ABCDEFGHJKLMNPQRSTUVXYWZIO";
    let Some((letter, rest)) = value.split_first() else { return false };
    let Some(place) =
        PLACES.iter().position(|known| known == letter).and_then(|at| u32::try_from(at + 10).ok())
    else {
        return false;
    };
    let digits = digits(rest);
    let sum = place / 10 + place % 10 * 9 + weighted(&digits, &[8, 7, 6, 5, 4, 3, 2, 1, 1]);
    digits.len() == 9 && matches!(digits.first(), Some(1 | 2 | 8 | 9)) && sum.is_multiple_of(10)
}
