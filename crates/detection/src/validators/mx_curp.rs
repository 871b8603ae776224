//! Population registry codes of Mexico (CURP): name, date of birth, sex, state, a check digit.

use super::Definition;
use crate::digits::{base_36, complement, digits, is_date, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "mx_curp",
    summary: "Eighteen characters with a day that was and a valid check digit.",
    validate,
    valid: &["BOXW310820HNERXN09", "HOGN050418MMCSZB03"],
    invalid: &["BOXW310820HNERXN08", "BOXW311320HNERXN09"],
};

const STATES: &str =
    "AS BC BS CC CH CL CM CS DF DG GR GT HG JC MC MN MS NE NL NT OC PL QR QT SL SP SR TC TL TS VZ YN ZS";

fn validate(value: &[u8]) -> bool {
    let Some((check, rest)) = value.split_last().filter(|_| value.len() == 18) else { return false };
    // Ñ stands between N and O in the alphabet, so letters from O on count one more.
    let rank = |symbol: u32| if symbol >= 24 { symbol + 1 } else { symbol };
    let sum: u32 =
        base_36(rest).iter().zip((2..=18).rev()).map(|(symbol, weight)| rank(*symbol) * weight).sum();
    let date = digits(value.get(4..10).unwrap_or(&[]));
    let born = is_date(pair(&date, 0), pair(&date, 2), pair(&date, 4));
    let sex = value.get(10).is_some_and(|sex| b"HMX".contains(sex));
    let state = STATES.split(' ').any(|state| value.get(11..13) == Some(state.as_bytes()));
    born && sex && state && complement(sum, 10) == u32::from(check.wrapping_sub(b'0'))
}
