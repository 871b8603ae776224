//! Identity card numbers of Hong Kong: one or two letters, six digits, modulo 11.

use super::Definition;
use crate::digits::{base_36, compact, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "hk_hkid",
    summary: "Letters and digits with a valid check character.",
    validate,
    valid: &["A123456(3)", "AB987654(3)", "Z618909(2)"],
    invalid: &["A123456(4)", "A12345(3)"],
};

fn validate(value: &[u8]) -> bool {
    let value = compact(value);
    let letters = value.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    let Some((check, rest)) = value.split_last() else { return false };
    let mut symbols = base_36(rest);
    if letters == 1 {
        // A missing letter counts as a space.
        symbols.insert(0, 36);
    }
    let check = if *check == b'A' { 10 } else { u32::from(check.wrapping_sub(b'0')) };
    let sum = weighted(&symbols, &[9, 8, 7, 6, 5, 4, 3, 2]) + check;
    matches!(letters, 1 | 2) && symbols.len() == 8 && check <= 10 && sum.is_multiple_of(11)
}
