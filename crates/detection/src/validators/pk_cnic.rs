//! Identity card numbers of Pakistan (CNIC): region, family, a digit for the sex.

use super::Definition;
use crate::digits::digits;

pub(super) const DEFINITION: Definition = Definition {
    name: "pk_cnic",
    summary: "Thirteen digits with a province and a digit for the sex.",
    validate,
    valid: &["34201-0891231-8", "3687148174436"],
    invalid: &["34201-0891231-0", "94201-0891231-8"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    digits.len() == 13 && matches!(digits.first(), Some(1..=7)) && !matches!(digits.last(), Some(0))
}
