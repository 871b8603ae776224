//! Equipment identities of mobile devices (3GPP TS 23.003): fifteen digits with a Luhn digit.

use super::Definition;
use crate::digits::{digits, is_uniform, luhn};

pub(super) const DEFINITION: Definition = Definition {
    name: "imei",
    summary: "Fifteen digits with a valid Luhn digit.",
    validate,
    valid: &["490154203237518", "35-209900-176148-1"],
    invalid: &["490154203237519", "000000000000000"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    digits.len() == 15 && !is_uniform(&digits) && luhn(&digits)
}
