//! Machine readable passports (ICAO 9303 part 4): check digits of number, birth and expiry, weights 7-3-1.

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "passport_mrz",
    summary: "Two lines of 44 characters whose check digits hold.",
    validate,
    valid: &["P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\nL898902C36UTO7408122F1204159ZE184226B<<<<<10"],
    invalid: &[
        "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\nL898902C37UTO7408122F1204159ZE184226B<<<<<10",
        "P<UTO",
    ],
};

const LINE_BYTES: usize = 44;

fn validate(value: &[u8]) -> bool {
    let Some(line) = value.len().checked_sub(LINE_BYTES).and_then(|at| value.get(at..)) else { return false };
    let holds = |from: usize, to: usize| {
        let field = line.get(from..to).unwrap_or(&[]);
        let symbol = |byte: &u8| char::from(*byte).to_digit(36).unwrap_or(0);
        let sum: u32 =
            field.iter().map(symbol).zip([7, 3, 1].into_iter().cycle()).map(|(s, weight)| s * weight).sum();
        line.get(to).is_some_and(|check| u32::from(check.wrapping_sub(b'0')) == sum % 10)
    };
    holds(0, 9) && holds(13, 19) && holds(21, 27)
}
