//! Personal health numbers of British Columbia: ten digits from 9 on, modulo 11.

use super::Definition;
use crate::digits::digits;

pub(super) const DEFINITION: Definition = Definition {
    name: "ca_bc_phn",
    summary: "Ten digits that begin with 9 with a valid check digit.",
    validate,
    valid: &["9698 658 215", "9396 215 586"],
    invalid: &["9698 658 216", "1698 658 215"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum: u32 =
        digits.iter().skip(1).zip([2, 4, 8, 5, 10, 9, 7, 3]).map(|(digit, weight)| digit * weight % 11).sum();
    digits.len() == 10 && digits.first() == Some(&9) && digits.last() == Some(&(11 - sum % 11))
}
