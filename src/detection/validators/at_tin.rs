//! Tax account numbers of Austria: nine digits, each second doubled, modulo 10.

use super::Definition;
use crate::detection::digits::digits;

pub(super) const DEFINITION: Definition = Definition {
    name: "at_tin",
    summary: "Nine digits with a valid check digit.",
    validate,
    valid: &["59-119/9013"],
    invalid: &["59-119/9012", "000000000"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let Some((check, rest)) = digits.split_last().filter(|_| digits.len() == 9) else { return false };
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let sum: u32 =
        rest.iter().enumerate().map(|(at, digit)| if at % 2 == 1 { doubled(*digit) } else { *digit }).sum();
    sum > 0 && (100 - sum) % 10 == *check
}
