//! Telephone numbers: ITU-T E.164 with a plus, and the ten digits of the North American Numbering Plan.

use super::Definition;
use crate::digits::{digits, is_uniform, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "phone",
    summary: "A plus, a country code that is assigned and seven to fifteen digits in all; or an area code, an exchange and four digits.",
    validate,
    valid: &["+44 20 7946 0958", "+678 22123", "+1 202-555-0143", "(704) 555-0160", "564-555-0165"],
    invalid: &["+999 123 4567", "+44 12", "+0 123 456 789", "104-555-0165", "564-155-0165"],
};

fn validate(value: &[u8]) -> bool {
    // Codes of two digits; one digit of others stands for a zone.
    const TWO: &[u32] = &[
        20, 27, 30, 31, 32, 33, 34, 36, 39, 40, 41, 43, 44, 45, 46, 47, 48, 49, 51, 52, 53, 54, 55, 56, 57,
        58, 60, 61, 62, 63, 64, 65, 66, 81, 82, 84, 86, 90, 91, 92, 93, 94, 95, 98,
    ];
    let digits = digits(value);
    if !value.starts_with(b"+") {
        let code = |at: usize| digits.get(at).is_some_and(|digit| *digit > 1);
        return digits.len() == 10 && code(0) && code(3) && !is_uniform(&digits);
    }
    let three = pair(&digits, 0) * 10 + digits.get(2).copied().unwrap_or(0);
    let zone = matches!(three, 211..=299 | 350..=359 | 370..=389 | 420..=423 | 500..=509 | 590..=599 | 670..=692 | 800 | 808 | 850..=856 | 870..=888 | 960..=979 | 992..=998);
    let country = matches!(digits.first(), Some(1 | 7)) || TWO.contains(&pair(&digits, 0)) || zone;
    country && (7..=15).contains(&digits.len()) && !is_uniform(&digits)
}
