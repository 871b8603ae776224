//! Identity numbers of Turkey: eleven digits, two of them check digits.

use super::Definition;
use crate::digits::{digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "tr_tckn",
    summary: "Eleven digits that do not begin with 0 with both check digits.",
    validate,
    valid: &["17291716060", "99341873756"],
    invalid: &["17291716061", "07291716060"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let odd = weighted(&digits, &[1, 0, 1, 0, 1, 0, 1, 0, 1]);
    let even = weighted(&digits, &[0, 1, 0, 1, 0, 1, 0, 1]);
    let first = (odd * 7 + 100 - even) % 10;
    let second = (odd + even + first) % 10;
    digits.len() == 11 && digits.first() != Some(&0) && digits.ends_with(&[first, second])
}
