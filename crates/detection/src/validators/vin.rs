//! Vehicle identification numbers (ISO 3779, 49 CFR 565): seventeen characters, the ninth a check character, modulo 11.

use super::Definition;
use crate::digits::weighted;

pub(super) const DEFINITION: Definition = Definition {
    name: "vin",
    summary: "Seventeen characters without I, O and Q with a valid check character.",
    validate,
    valid: &["1M8GDM9AXKP042788", "5YJ57ZML0N5695380"],
    invalid: &["1M8GDM9A1KP042788", "11111111111111111", "1M8GDM9AXKPO42788"],
};

fn validate(value: &[u8]) -> bool {
    const WEIGHTS: [u32; 17] = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
    let rank = |byte: &u8| match byte {
        b'0'..=b'9' => Some(u32::from(byte - b'0')),
        b'A'..=b'H' => Some(u32::from(byte - b'A' + 1)),
        b'J'..=b'N' => Some(u32::from(byte - b'J' + 1)),
        b'P' => Some(7),
        b'R' => Some(9),
        b'S'..=b'Z' => Some(u32::from(byte - b'S' + 2)),
        _ => None,
    };
    let Some(ranks) = value.iter().map(rank).collect::<Option<Vec<u32>>>() else { return false };
    let check = match weighted(&ranks, &WEIGHTS) % 11 {
        10 => b'X',
        rest => b'0' + u8::try_from(rest).unwrap_or(0),
    };
    let varied = value.iter().any(u8::is_ascii_uppercase) && value.iter().any(u8::is_ascii_digit);
    value.len() == 17 && varied && value.get(8) == Some(&check)
}
