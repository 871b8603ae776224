//! Tax numbers of New Zealand (IRD): eight or nine digits, modulo 11 in two rounds.

use super::Definition;
use crate::digits::{complement, digits, number, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "nz_ird",
    summary: "A number from 10 to 150 million with a valid check digit.",
    validate,
    valid: &["49-091-850", "136-410-132", "22635190"],
    invalid: &["49-091-851", "136-410-133", "00-000-000"],
};

fn validate(value: &[u8]) -> bool {
    let mut digits = digits(value);
    if digits.len() == 8 {
        digits.insert(0, 0);
    }
    let Some((check, rest)) = digits.split_last().filter(|_| digits.len() == 9) else { return false };
    let round = |weights: &[u32; 8]| complement(weighted(rest, weights), 11);
    let expected = match round(&[3, 2, 7, 6, 5, 4, 3, 2]) {
        10 => round(&[7, 4, 3, 2, 5, 2, 7, 6]),
        check => check,
    };
    (10_000_000..150_000_000).contains(&number(&digits)) && *check == expected
}
