//! Identification numbers of Luxembourg: date of birth, serial number, a Luhn digit and a Verhoeff digit.

use super::Definition;
use crate::digits::{Digits, digits, is_date, luhn, pair, verhoeff};

pub(super) const DEFINITION: Definition = Definition {
    name: "lu_nin",
    summary: "Thirteen digits with a day that was and both check digits.",
    validate,
    valid: &["1893120105732", "1963050333220"],
    invalid: &["1893120105733", "1893130105732"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let (Some(body), Some(first)) = (digits.get(..11), digits.get(..12)) else { return false };
    let mut second: Digits = body.into();
    second.extend(digits.get(12).copied());
    let year = pair(&digits, 0) * 100 + pair(&digits, 2);
    let born = is_date(year, pair(&digits, 4), pair(&digits, 6)) && (1800..2100).contains(&year);
    digits.len() == 13 && born && luhn(first) && verhoeff(&second)
}
