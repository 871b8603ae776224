//! Account numbers of Mexico (CLABE): eighteen digits, weights 3-7-1 modulo 10.

use super::Definition;
use crate::digits::{complement, digits};

pub(super) const DEFINITION: Definition = Definition {
    name: "mx_clabe",
    summary: "Eighteen digits with a valid check digit.",
    validate,
    valid: &["032180000118359719", "014547494350792440"],
    invalid: &["032180000118359718", "000000000000000000"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let Some((check, rest)) = digits.split_last().filter(|_| digits.len() == 18) else { return false };
    let sum: u32 =
        rest.iter().zip([3, 7, 1].into_iter().cycle()).map(|(digit, weight)| digit * weight % 10).sum();
    sum > 0 && complement(sum, 10) == *check
}
