//! Personal codes of Estonia and Lithuania: sex and century, date of birth, serial number, modulo 11 in two rounds.

use super::Definition;
use crate::digits::{digits, is_date, pair, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "baltic_code",
    summary: "Eleven digits with a day that was and a valid check digit.",
    validate,
    valid: &["36805280109", "33309240064", "48002231256"],
    invalid: &["36805280108", "36813280109", "06805280109"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let century = match digits.first() {
        Some(1 | 2) => 1800,
        Some(3 | 4) => 1900,
        Some(5 | 6) => 2000,
        Some(7 | 8) => 2100,
        _ => return false,
    };
    let mut check = weighted(&digits, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11;
    if check == 10 {
        check = weighted(&digits, &[3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11 % 10;
    }
    let born = is_date(century + pair(&digits, 1), pair(&digits, 3), pair(&digits, 5));
    digits.len() == 11 && born && digits.last() == Some(&check)
}
