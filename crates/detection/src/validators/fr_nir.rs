//! Social security numbers of France (NIR): sex, year and month of birth, place, serial number, modulo 97.

use super::Definition;
use crate::digits::{compact, digits, number, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "fr_nir",
    summary: "Fifteen characters whose last two are 97 less the rest of the others; Corsica counts as 19 and 18.",
    validate,
    valid: &["2 95 10 99 126 111 93", "2 94 11 88 708 474 92"],
    invalid: &["2 95 10 99 126 111 94", "0 95 10 99 126 111 93", "2 95 17 99 126 111 93"],
};

fn validate(value: &[u8]) -> bool {
    let mut plain = compact(value);
    let corsica = match plain.get(5..7) {
        Some(b"2A") => Some(*b"19"),
        Some(b"2B") => Some(*b"18"),
        _ => None,
    };
    if let (Some(number), Some(place)) = (corsica, plain.get_mut(5..7)) {
        place.copy_from_slice(&number);
    }
    let digits = digits(&plain);
    let Some((rest, _)) = digits.split_at_checked(13).filter(|_| digits.len() == 15) else { return false };
    let sex = matches!(digits.first(), Some(1..=4 | 7 | 8));
    let month = matches!(pair(&digits, 3), 1..=12 | 20..=42 | 50..=99);
    sex && month && 97 - number(rest) % 97 == u64::from(pair(&digits, 13))
}
