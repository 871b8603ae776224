//! Taxpayer numbers of Ukraine: ten digits, modulo 11.

use super::Definition;
use crate::digits::{digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "ua_rntrc",
    summary: "Ten digits with a valid check digit.",
    validate,
    valid: &["1759013776", "2020295587"],
    invalid: &["1759013777", "0000000000"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let Some((first, rest)) = digits.split_first().filter(|_| digits.len() == 10) else { return false };
    // The weight of the first digit is -1, that is 10.
    let sum = first * 10 + weighted(rest, &[5, 7, 9, 4, 6, 10, 5, 7]);
    sum > 0 && digits.last() == Some(&(sum % 11 % 10))
}
