//! Tax numbers of Poland (NIP): ten digits, modulo 11.

use super::Definition;
use crate::digits::{digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "pl_nip",
    summary: "Ten digits with a valid check digit.",
    validate,
    valid: &["856-734-62-15", "780-686-53-15"],
    invalid: &["856-734-62-16", "000-000-00-00"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[6, 5, 7, 2, 3, 4, 5, 6, 7]);
    digits.len() == 10 && sum > 0 && digits.last() == Some(&(sum % 11))
}
