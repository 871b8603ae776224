//! Birth numbers of the Czech Republic and Slovakia: date of birth, serial number, a multiple of 11.

use super::Definition;
use crate::digits::{digits, is_date, number, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "cz_rc",
    summary: "Ten digits with a day that was, a multiple of 11.",
    validate,
    valid: &["710319/2745", "640627/0300"],
    invalid: &["710319/2746", "711319/2745"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let month = match pair(&digits, 2) {
        month @ 71..=82 => month - 70,
        month @ 51..=62 => month - 50,
        month @ 21..=32 => month - 20,
        month => month,
    };
    let Some((check, rest)) = digits.split_last().filter(|_| digits.len() == 10) else { return false };
    let sound = u64::from(*check) == number(rest) % 11 % 10;
    sound && is_date(pair(&digits, 0), month, pair(&digits, 4))
}
