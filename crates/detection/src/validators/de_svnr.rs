//! Insurance numbers of the German pension insurance: area, date of birth, initial, serial number, check digit.

use super::Definition;
use crate::digits::{compact, digits, is_date, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "de_svnr",
    summary: "Twelve characters with a valid check digit.",
    validate,
    valid: &["65 170839 J 003", "15 070649 C 103"],
    invalid: &["65 170839 J 004", "65 170839 3 003"],
};

fn validate(value: &[u8]) -> bool {
    let value = compact(value);
    let Some(letter) = value.get(8).filter(|letter| letter.is_ascii_uppercase()) else { return false };
    let initial = u32::from(letter - b'A' + 1);
    let Some((area, serial)) = value.split_at_checked(8).filter(|_| value.len() == 12) else { return false };
    let mut all = digits(area);
    all.extend([initial / 10, initial % 10]);
    all.extend(digits(serial));
    let weights = [2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1];
    let sum: u32 =
        all.iter().zip(weights).map(|(digit, weight)| digit * weight / 10 + digit * weight % 10).sum();
    all.len() == 13
        && all.last() == Some(&(sum % 10))
        && is_date(pair(&all, 6), pair(&all, 4), pair(&all, 2) % 50)
}
