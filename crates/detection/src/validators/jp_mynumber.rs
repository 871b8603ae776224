//! Individual numbers of Japan (My Number): twelve digits, modulo 11.

use super::Definition;
use crate::digits::{complement, digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "jp_mynumber",
    summary: "Twelve digits with a valid check digit.",
    validate,
    valid: &["123456789018", "474982676721"],
    invalid: &["123456789019", "000000000000"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]);
    let check = complement(sum, 11) % 10;
    digits.len() == 12 && sum > 0 && digits.last() == Some(&check)
}
