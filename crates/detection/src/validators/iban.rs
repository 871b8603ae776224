//! International bank account numbers (ISO 13616): length by country, ISO 7064 mod 97-10.

use super::Definition;
use crate::digits::compact;

pub(super) const DEFINITION: Definition = Definition {
    name: "iban",
    summary: "An account number of a registered country and length whose check digits hold.",
    validate,
    valid: &["GB82 WEST 1234 5698 7654 32", "DE89370400440532013000", "NO93 8601 1117 947"],
    invalid: &["GB82 WEST 1234 5698 7654 33", "DE8937040044053201300", "XX89370400440532013000"],
};

/// Countries with the length of their numbers, from the IBAN registry.
const LENGTHS: &[(&[u8; 2], usize)] = &[
    (b"AD", 24),
    (b"AE", 23),
    (b"AL", 28),
    (b"AT", 20),
    (b"AZ", 28),
    (b"BA", 20),
    (b"BE", 16),
    (b"BG", 22),
    (b"BH", 22),
    (b"BI", 27),
    (b"BR", 29),
    (b"BY", 28),
    (b"CH", 21),
    (b"CR", 22),
    (b"CY", 28),
    (b"CZ", 24),
    (b"DE", 22),
    (b"DJ", 27),
    (b"DK", 18),
    (b"DO", 28),
    (b"EE", 20),
    (b"EG", 29),
    (b"ES", 24),
    (b"FI", 18),
    (b"FK", 18),
    (b"FO", 18),
    (b"FR", 27),
    (b"GB", 22),
    (b"GE", 22),
    (b"GI", 23),
    (b"GL", 18),
    (b"GR", 27),
    (b"GT", 28),
    (b"HN", 28),
    (b"HR", 21),
    (b"HU", 28),
    (b"IE", 22),
    (b"IL", 23),
    (b"IQ", 23),
    (b"IS", 26),
    (b"IT", 27),
    (b"JO", 30),
    (b"KW", 30),
    (b"KZ", 20),
    (b"LB", 28),
    (b"LC", 32),
    (b"LI", 21),
    (b"LT", 20),
    (b"LU", 20),
    (b"LV", 21),
    (b"LY", 25),
    (b"MC", 27),
    (b"MD", 24),
    (b"ME", 22),
    (b"MK", 19),
    (b"MN", 20),
    (b"MR", 27),
    (b"MT", 31),
    (b"MU", 30),
    (b"NI", 28),
    (b"NL", 18),
    (b"NO", 15),
    (b"OM", 23),
    (b"PK", 24),
    (b"PL", 28),
    (b"PS", 29),
    (b"PT", 25),
    (b"QA", 29),
    (b"RO", 24),
    (b"RS", 22),
    (b"RU", 33),
    (b"SA", 24),
    (b"SC", 31),
    (b"SD", 18),
    (b"SE", 24),
    (b"SI", 19),
    (b"SK", 24),
    (b"SM", 27),
    (b"SO", 23),
    (b"ST", 25),
    (b"SV", 28),
    (b"TL", 23),
    (b"TN", 24),
    (b"TR", 26),
    (b"UA", 29),
    (b"VA", 22),
    (b"VG", 24),
    (b"XK", 20),
    (b"YE", 30),
];

/// The lengths by country, the letters counted from A; 0 if there is no such country.
static LENGTH_OF: [u8; 26 * 26] = {
    let mut lengths = [0; 26 * 26];
    let mut rest = LENGTHS;
    while let [([first, second], length), others @ ..] = rest {
        lengths[(*first - b'A') as usize * 26 + (*second - b'A') as usize] = *length as u8;
        rest = others;
    }
    lengths
};

/// Most digits of a number with its letters as two.
const MAX_DIGITS: usize = 72;

/// The powers of ten modulo 97.
static POWERS: [u32; MAX_DIGITS] = {
    let mut powers = [1; MAX_DIGITS];
    let mut nth = 1;
    while nth < MAX_DIGITS {
        powers[nth] = powers[nth - 1] * 10 % 97;
        nth += 1;
    }
    powers
};

fn validate(value: &[u8]) -> bool {
    let compact = compact(value);
    let letter = |at: usize| compact.get(at).filter(|byte| byte.is_ascii_uppercase()).map(|byte| byte - b'A');
    let (Some(first), Some(second)) = (letter(0), letter(1)) else { return false };
    let length = LENGTH_OF.get(usize::from(first) * 26 + usize::from(second));
    length.is_some_and(|length| usize::from(*length) == compact.len()) && remainder(&compact) == 1
}

/// The number with its first four characters moved to the end and letters as 10 … 35, modulo 97.
fn remainder(compact: &[u8]) -> u32 {
    let (head, tail) = compact.split_at_checked(4).unwrap_or((compact, &[]));
    let mut digits = 0;
    let from_last = head.iter().rev().chain(tail.iter().rev());
    let products = from_last.map(|byte| {
        let (value, more) = match byte {
            b'0'..=b'9' => (u32::from(byte - b'0'), 1),
            _ => (u32::from(byte.to_ascii_uppercase().wrapping_sub(b'A')) + 10, 2),
        };
        let power = POWERS.get(digits).copied().unwrap_or(0);
        digits += more;
        value * power
    });
    products.sum::<u32>() % 97
}
