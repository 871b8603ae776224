//! Fiscal codes of Italy: name, date and place of birth, a letter of the sum modulo 26.

use super::Definition;
use crate::digits::base_36;

pub(super) const DEFINITION: Definition = Definition {
    name: "it_codicefiscale",
    summary: "Sixteen characters with a month and a valid check letter, whatever their case.",
    validate,
    valid: &["RCCMNL83S18D969H", "lpvbzc92p56i622b"],
    invalid: &["RCCMNL83S18D969I", "RCCMNL83F18D969H"],
};

fn validate(value: &[u8]) -> bool {
    const ODD: [u32; 36] = [
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12,
        14, 16, 10, 22, 25, 24, 23,
    ];
    let symbols = base_36(value);
    let Some((check, rest)) = symbols.split_last().filter(|_| symbols.len() == 16) else { return false };
    let even = |symbol: u32| if symbol > 9 { symbol - 10 } else { symbol };
    let odd = |symbol: u32| ODD.get(symbol as usize).copied().unwrap_or(0);
    let sum: u32 = rest.iter().enumerate().map(|(at, s)| if at % 2 == 0 { odd(*s) } else { even(*s) }).sum();
    let month = value.get(8).is_some_and(|month| b"ABCDEHLMPRST".contains(&month.to_ascii_uppercase()));
    month && sum % 26 + 10 == *check
}
