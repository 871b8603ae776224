//! Account numbers of Argentina (Clave Bancaria Uniforme): two blocks, each with a check digit, weights 3-1-7-9 from the right.

use super::Definition;
use crate::digits::{complement, digits};

pub(super) const DEFINITION: Definition = Definition {
    name: "ar_cbu",
    summary: "Twenty-two digits with both check digits.",
    validate,
    valid: &["2850590940090418135201", "0373689216184434743588"],
    invalid: &["2850590940090418135202", "2810590940090418135201", "285059094009041813520"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let Some((bank, account)) = digits.split_at_checked(8) else { return false };
    digits.len() == 22 && holds(bank) && holds(account)
}

fn holds(block: &[u32]) -> bool {
    let Some((check, rest)) = block.split_last() else { return false };
    let sum: u32 =
        rest.iter().rev().zip([3, 1, 7, 9].into_iter().cycle()).map(|(digit, weight)| digit * weight).sum();
    complement(sum, 10) == *check
}
