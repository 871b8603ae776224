//! Social security numbers of Hungary (TAJ): nine digits, weights 3-7 modulo 10.

use super::Definition;
use crate::digits::{digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "hu_taj",
    summary: "Nine digits with a valid check digit.",
    validate,
    valid: &["340 996 676", "549 038 957"],
    invalid: &["340 996 677", "000 000 000"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[3, 7, 3, 7, 3, 7, 3, 7]);
    digits.len() == 9 && sum > 0 && digits.last() == Some(&(sum % 10))
}
