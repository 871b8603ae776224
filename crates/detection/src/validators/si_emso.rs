//! Citizen numbers of Slovenia (EMŠO): date of birth, register, serial number, modulo 11.

use super::Definition;
use crate::digits::{complement, digits, is_date, number, pair, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "si_emso",
    summary: "Thirteen digits with a day that was, a register and a valid check digit.",
    validate,
    valid: &["0101006500006", "2407972508446"],
    invalid: &["0101006500007", "0113006500006"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]);
    let year = digits.get(4..7).map_or(0, |year| number(year) as u32);
    let year = if year >= 800 { 1000 + year } else { 2000 + year };
    let born = is_date(year, pair(&digits, 2), pair(&digits, 0));
    digits.len() == 13 && born && digits.last() == Some(&(complement(sum, 11) % 10))
}
