//! Tax and labour numbers of Argentina (CUIT, CUIL): eleven digits, modulo 11.

use super::Definition;
use crate::digits::{digits, pair, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "ar_cuit",
    summary: "Eleven digits of a known kind with a valid check digit.",
    validate,
    valid: &["20-05536168-2", "30-50001091-2"],
    invalid: &["20-05536168-3", "10-05536168-2"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let kind = matches!(pair(&digits, 0), 20 | 23 | 24 | 25 | 26 | 27 | 30 | 33 | 34 | 50 | 51 | 55);
    let check = match 11 - weighted(&digits, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11 {
        11 => 0,
        10 => 9,
        check => check,
    };
    digits.len() == 11 && kind && digits.last() == Some(&check)
}
