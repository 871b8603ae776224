//! Goods and services tax numbers of India: state, PAN, entity, Z, a check character of base 36.

use super::Definition;
use crate::digits::{base_36, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "in_gstin",
    summary: "Fifteen characters with a state, a PAN and a valid check character.",
    validate,
    valid: &["27AAPFU0939F1ZV", "23EDCFO8183D1Z4"],
    invalid: &["27AAPFU0939F1ZA", "00AAPFU0939F1ZV", "27AAPXU0939F1ZV"],
};

fn validate(value: &[u8]) -> bool {
    let symbols = base_36(value);
    let Some((check, rest)) = symbols.split_last().filter(|_| symbols.len() == 15) else { return false };
    let sum: u32 = rest
        .iter()
        .zip([1, 2].into_iter().cycle())
        .map(|(symbol, factor)| symbol * factor)
        .map(|product| product / 36 + product % 36)
        .sum();
    let state = matches!(pair(&symbols, 0), 1..=38 | 97 | 99);
    let holder = value.get(5).is_some_and(|kind| b"ABCEFGHJKLPT".contains(kind));
    state && holder && (36 - sum % 36) % 36 == *check
}
