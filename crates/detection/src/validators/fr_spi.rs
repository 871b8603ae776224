//! Tax numbers of France (SPI): ten digits, and their rest modulo 511.

use super::Definition;
use crate::digits::{digits, number};

pub(super) const DEFINITION: Definition = Definition {
    name: "fr_spi",
    summary: "Thirteen digits that begin with 0 to 3, the last three the rest of the others modulo 511.",
    validate,
    valid: &["30 23 217 600 053", "2645714614361"],
    invalid: &["30 23 217 600 054", "70 23 217 600 053"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let Some((rest, check)) = digits.split_at_checked(10).filter(|_| digits.len() == 13) else {
        return false;
    };
    digits.first().is_some_and(|first| *first <= 3) && number(rest) > 0 && number(rest) % 511 == number(check)
}
