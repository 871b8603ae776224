//! Australian Business Numbers: eleven digits, modulo 89.

use super::Definition;
use crate::digits::{digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "au_abn",
    summary: "Eleven digits whose weighted sum, the first lessened by one, is a multiple of 89.",
    validate,
    valid: &["83 914 571 673", "51 824 753 556"],
    invalid: &["83 914 571 674", "99 999 999 999"],
};

fn validate(value: &[u8]) -> bool {
    let mut digits = digits(value);
    let Some(first) = digits.first_mut().filter(|first| **first > 0) else { return false };
    *first -= 1;
    digits.len() == 11 && weighted(&digits, &[10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]).is_multiple_of(89)
}
