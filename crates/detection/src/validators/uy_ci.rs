//! Identity card numbers of Uruguay: seven digits and a check digit, modulo 10.

use super::Definition;
use crate::digits::{complement, digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "uy_ci",
    summary: "Eight digits with a valid check digit.",
    validate,
    valid: &["1.784.635-8", "9.563.970-3"],
    invalid: &["1.784.635-9", "0.000.000-0"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[2, 9, 8, 7, 6, 3, 4]);
    digits.len() == 8 && sum > 0 && digits.last() == Some(&complement(sum, 10))
}
