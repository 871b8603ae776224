//! Personal identity codes of Finland: date of birth, century, serial number, the character of the rest modulo 31.

use super::Definition;
use crate::digits::{digits, is_date, number, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "fi_hetu",
    summary: "A day that was, a sign of the century, three digits and a valid character.",
    validate,
    valid: &["131052-308T", "131052A308T", "290448-626H"],
    invalid: &["131052-308U", "131052/308T", "321052-308T"],
};

fn validate(value: &[u8]) -> bool {
    const CHARACTERS: &[u8; 31] = b"0123456789ABCDEFHJKLMNPRSTUVWXY";
    let [date @ .., sign, a, b, c, check] = value else { return false };
    let (date, serial) = (digits(date), digits(&[*a, *b, *c]));
    let century = match sign {
        b'+' => 1800,
        b'-' | b'U'..=b'Y' => 1900,
        b'A'..=b'F' => 2000,
        _ => return false,
    };
    let born = is_date(century + pair(&date, 4), pair(&date, 2), pair(&date, 0));
    let number_of_serial = number(&serial);
    let number = number(&date) * 1000 + number_of_serial;
    // Numbers from 900 on are temporary.
    let lasting = pair(&serial, 0) < 90 && number_of_serial > 1;
    date.len() == 6
        && serial.len() == 3
        && born
        && lasting
        && CHARACTERS.get((number % 31) as usize) == Some(check)
}
