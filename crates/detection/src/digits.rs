//! Arithmetic of check digits and dates, as several numbers use it.

use smallvec::SmallVec;

pub type Digits = SmallVec<[u32; INLINE_DIGITS]>;

/// Most digits that are kept in place.
const INLINE_DIGITS: usize = 32;

pub type Compact = SmallVec<[u8; INLINE_BYTES]>;

/// Most letters and digits that are kept in place: an account number and its spaces.
const INLINE_BYTES: usize = 64;

/// The digits of a value, its separators left out.
#[inline]
pub fn digits(value: &[u8]) -> Digits {
    kept(value, u8::is_ascii_digit, |byte| u32::from(byte.wrapping_sub(b'0')))
}

/// Letters as 10 … 35, digits as themselves, everything else left out.
pub fn base_36(value: &[u8]) -> Digits {
    value.iter().filter_map(|byte| char::from(*byte).to_digit(36)).collect()
}

/// Letters and digits of a value as they stand.
pub fn compact(value: &[u8]) -> Compact {
    kept(value, u8::is_ascii_alphanumeric, |byte| byte)
}

/// What is made of those bytes that `is_kept` takes.
#[inline]
fn kept<T: Copy + Default, const INLINE: usize>(
    value: &[u8],
    is_kept: impl Fn(&u8) -> bool,
    of: impl Fn(u8) -> T,
) -> SmallVec<[T; INLINE]>
where
    [T; INLINE]: smallvec::Array<Item = T>,
{
    if value.len() > INLINE {
        return value.iter().filter(|byte| is_kept(byte)).map(|byte| of(*byte)).collect();
    }
    let (mut kept, mut count) = ([T::default(); INLINE], 0);
    for byte in value {
        // PERF: benches/detection.rs. Without a branch: what is not kept is written over by the next.
        if let Some(place) = kept.get_mut(count) {
            *place = of(*byte);
        }
        count += usize::from(is_kept(byte));
    }
    SmallVec::from_buf_and_len(kept, count)
}

/// The sum of each digit times its weight.
pub fn weighted(digits: &[u32], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(digit, weight)| digit * weight).sum()
}

/// The digits as one number; the greatest for those that have none.
pub fn number(digits: &[u32]) -> u64 {
    digits.iter().fold(0, |number: u64, digit| number.saturating_mul(10).saturating_add(u64::from(*digit)))
}

/// What a sum lacks to the next multiple.
pub fn complement(sum: u32, modulus: u32) -> u32 {
    (modulus - sum % modulus) % modulus
}

/// ISO/IEC 7812-1 annex B: whether the last digit is the check digit.
pub fn luhn(digits: &[u32]) -> bool {
    !digits.is_empty() && LuhnSums::of(digits).plain.is_multiple_of(10)
}

/// [`luhn`] of the digits of a value, whatever stands between them: most numbers of a card's shape go no further.
#[inline]
pub fn luhn_of_text(value: &[u8]) -> bool {
    let (sums, count) = value.iter().fold((LuhnSums::default(), 0), |(sums, count), byte| {
        let digit = u32::from(byte.wrapping_sub(b'0'));
        if digit < 10 { (sums.and(digit), count + 1) } else { (sums, count) }
    });
    count > 0 && sums.plain.is_multiple_of(10)
}

/// The check digit that belongs behind these digits.
pub fn luhn_check(digits: &[u32]) -> u32 {
    complement(LuhnSums::of(digits).doubled, 10)
}

/// The sums of digits of which every second is doubled: not the last, or the last too.
#[derive(Clone, Copy, Default)]
struct LuhnSums {
    plain: u32,
    doubled: u32,
}

impl LuhnSums {
    fn of(digits: &[u32]) -> Self {
        digits.iter().fold(Self::default(), |sums, digit| sums.and(*digit))
    }

    /// With one digit more at the end.
    #[inline]
    fn and(self, digit: u32) -> Self {
        let twice = if digit > 4 { digit * 2 - 9 } else { digit * 2 };
        Self { plain: self.doubled + digit, doubled: self.plain + twice }
    }
}

/// ISO/IEC 7064, hybrid system MOD 11,10: whether the last digit is the check digit.
pub fn mod_11_10(digits: &[u32]) -> bool {
    let Some((check, rest)) = digits.split_last() else { return false };
    let product = rest.iter().fold(10, |product, digit| {
        let sum = (product + digit) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    (11 - product) % 10 == *check
}

/// J. Verhoeff, Error detecting decimal codes (1969): whether the last digit is the check digit.
pub fn verhoeff(digits: &[u32]) -> bool {
    const PRODUCT: [[u32; 10]; 10] = [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        [1, 2, 3, 4, 0, 6, 7, 8, 9, 5],
        [2, 3, 4, 0, 1, 7, 8, 9, 5, 6],
        [3, 4, 0, 1, 2, 8, 9, 5, 6, 7],
        [4, 0, 1, 2, 3, 9, 5, 6, 7, 8],
        [5, 9, 8, 7, 6, 0, 4, 3, 2, 1],
        [6, 5, 9, 8, 7, 1, 0, 4, 3, 2],
        [7, 6, 5, 9, 8, 2, 1, 0, 4, 3],
        [8, 7, 6, 5, 9, 3, 2, 1, 0, 4],
        [9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
    ];
    const PERMUTATION: [u32; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let permuted = |digit: u32| PERMUTATION.get(digit as usize).copied().unwrap_or(0);
    let check = digits.iter().rev().enumerate().fold(0_u32, |check, (at, digit)| {
        let digit = (0..at % 8).fold(*digit, |digit, _| permuted(digit));
        PRODUCT.get(check as usize).and_then(|row| row.get(digit as usize)).copied().unwrap_or(1)
    });
    check == 0 && !digits.is_empty()
}

/// Whether there is such a day, in a year of which the last two digits may be all that is known.
pub fn is_date(year: u32, month: u32, day: u32) -> bool {
    let leap =
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400) || year < 100);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// Two digits at a place as one number.
pub fn pair(digits: &[u32], at: usize) -> u32 {
    match digits.get(at..at + 2) {
        Some([tens, ones]) => tens * 10 + ones,
        // No month, no day, no prefix of anything.
        _ => 99_999,
    }
}

/// Whether all digits are the same.
pub fn is_uniform(digits: &[u32]) -> bool {
    digits.windows(2).all(|two| matches!(two, [a, b] if a == b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_numbers_hold() {
        for text in
            ["", "a", "1a2-3", "1234567890123456789012345678901-", "12345678901234567890123456789012345"]
        {
            let expected: Vec<u32> = text.chars().filter_map(|character| character.to_digit(10)).collect();
            assert_eq!(digits(text.as_bytes()).to_vec(), expected, "{text}");
            for text in [text.to_owned(), text.repeat(3), format!("{text} ").repeat(9)] {
                let expected: Vec<u8> = text.bytes().filter(u8::is_ascii_alphanumeric).collect();
                assert_eq!(compact(text.as_bytes()).to_vec(), expected, "{text}");
            }
        }
        assert!(luhn(&digits(b"79927398713")) && !luhn(&digits(b"79927398714")) && !luhn(&[]));
        for number in 0..100_000 {
            let text = format!("{} {}-{}", number % 7, number, number * 31);
            assert_eq!(luhn_of_text(text.as_bytes()), luhn(&digits(text.as_bytes())), "{text}");
        }
        assert!(!luhn_of_text(b"") && !luhn_of_text(b"-"));
        assert!(verhoeff(&digits(b"2363")) && !verhoeff(&digits(b"2364")));
        assert!(mod_11_10(&digits(b"07945")) && !mod_11_10(&digits(b"07946")));
        assert_eq!(number(&digits(b"1 234-5")), 12_345);
    }

    #[test]
    fn dates_are_days_that_were() {
        assert!(is_date(2024, 2, 29) && is_date(96, 2, 29) && is_date(0, 2, 29) && is_date(1999, 12, 31));
        for (year, month, day) in
            [(2023, 2, 29), (1900, 2, 29), (99, 4, 31), (99, 13, 1), (99, 0, 1), (99, 1, 0)]
        {
            assert!(!is_date(year, month, day), "{year}-{month}-{day}");
        }
    }
}
