//! Serial numbers of German identity cards: nine characters and a check digit, weights 7-3-1.

use super::Definition;
use crate::digits::{base_36, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "de_personalausweis",
    summary: "Nine letters and digits with a valid check digit.",
    validate,
    valid: &["L01X00T471", "T220001293", "MCJZG03T55"],
    invalid: &["L01X00T472", "I01X00T471"],
};

fn validate(value: &[u8]) -> bool {
    let symbols = base_36(value);
    let Some((check, rest)) = symbols.split_last().filter(|_| symbols.len() == 10) else { return false };
    let begins = value.first().is_some_and(|first| b"CFGHJKLMNPRTVWXYZ".contains(first));
    begins && weighted(rest, &[7, 3, 1, 7, 3, 1, 7, 3, 1]) % 10 == *check
}
