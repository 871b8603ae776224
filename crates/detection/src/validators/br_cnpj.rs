//! Company numbers of Brazil (CNPJ): fourteen digits, two of them check digits, modulo 11.

use super::Definition;
use crate::digits::{complement, digits, is_uniform, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "br_cnpj",
    summary: "Fourteen digits with both check digits.",
    validate,
    valid: &["16.727.230/0001-97", "11.017.153/0003-20"],
    invalid: &["16.727.230/0001-98", "00.000.000/0000-00"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let first = complement(weighted(&digits, &[5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]), 11) % 10;
    let second = complement(weighted(&digits, &[6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]), 11) % 10;
    digits.len() == 14 && !is_uniform(&digits) && digits.ends_with(&[first, second])
}
