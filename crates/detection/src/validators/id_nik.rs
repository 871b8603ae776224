//! Identity numbers of Indonesia (NIK): region, date of birth, serial number.

use super::Definition;
use crate::digits::{digits, is_date, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "id_nik",
    summary: "Sixteen digits with a province and a day that was, 40 more for women.",
    validate,
    valid: &["3171011708450001", "1271202901590041"],
    invalid: &["0071011708450001", "3171011713450001", "3171011708450000"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let day = pair(&digits, 6);
    let day = if day > 40 { day - 40 } else { day };
    let province =
        matches!(pair(&digits, 0), 11..=21 | 31..=36 | 51..=53 | 61..=65 | 71..=76 | 81 | 82 | 91..=97);
    let born = is_date(pair(&digits, 10), pair(&digits, 8), day);
    digits.len() == 16 && province && born && !digits.ends_with(&[0, 0, 0, 0])
}
