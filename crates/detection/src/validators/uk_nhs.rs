//! NHS numbers of the United Kingdom: ten digits, modulo 11.

use super::Definition;
use crate::digits::{complement, digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "uk_nhs",
    summary: "Ten digits with a valid check digit.",
    validate,
    valid: &["943-476-5870", "5068456535"],
    invalid: &["943-476-5871", "000 000 0000"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[10, 9, 8, 7, 6, 5, 4, 3, 2]);
    digits.len() == 10 && sum > 0 && digits.last() == Some(&complement(sum, 11))
}
