//! Eight bytes in one step: what each of them is, without a branch. PERF: benches/detection.rs.

/// How many bytes are digits before the first that is none, without a branch.
#[inline]
pub fn leading_digits(bytes: [u8; 8]) -> usize {
    let others = is_at_least(u64::from_le_bytes(bytes) ^ repeat(b'0'), 10);
    others.trailing_zeros() as usize / 8
}

/// How many bytes are capital letters or digits before the first that is neither, and whether there are letters
/// among them; without a branch.
#[inline]
pub fn leading_capitals(bytes: [u8; 8]) -> (usize, bool) {
    let from = |first: u8| u64::from_le_bytes(bytes) ^ repeat(first);
    let digits = !is_at_least(from(b'0'), 10);
    let letters = is_at_least(from(b'@'), 1) & !is_at_least(from(b'@'), 27);
    let others = !(digits | letters) & HIGHS;
    let before = others.wrapping_sub(1) & !others;
    (others.trailing_zeros() as usize / 8, letters & before & HIGHS != 0)
}

/// How many bytes stand behind the last that is `byte`; `None` if none is.
#[inline]
pub fn bytes_behind_last(bytes: [u8; 8], byte: u8) -> Option<usize> {
    let found = !is_at_least(u64::from_le_bytes(bytes) ^ repeat(byte), 1) & HIGHS;
    (found != 0).then_some(found.leading_zeros() as usize / 8)
}

/// The high bit of each byte.
const HIGHS: u64 = repeat(0x80);

/// The high bit of each byte that is `least` or more, which is at most 128.
#[inline]
const fn is_at_least(values: u64, least: u8) -> u64 {
    // No sum is carried into the next byte.
    (((values & !HIGHS) + repeat(0x80 - least)) | values) & HIGHS
}

/// A byte eight times.
const fn repeat(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::find::classes::is_capital;

    #[test]
    fn capitals_are_counted_up_to_the_first_other() {
        let mut ran = 0;
        for text in [*b"09518273", *b"AZKQWERT", *b"A1B2C3D4", *b"1234567Z"] {
            for (byte, at) in (0..=255_u8).flat_map(|byte| (0..8).map(move |at| (byte, at))) {
                let (mut one, mut rest) = (text, text);
                one[at] = byte;
                rest.iter_mut().skip(at).for_each(|other| *other = byte);
                for bytes in [one, rest] {
                    let capitals: Vec<u8> = bytes.into_iter().take_while(|byte| is_capital(*byte)).collect();
                    let has_letters = capitals.iter().any(u8::is_ascii_uppercase);
                    assert_eq!(leading_capitals(bytes), (capitals.len(), has_letters), "{bytes:?}");
                    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
                    assert_eq!(leading_digits(bytes), digits, "{bytes:?}");
                    ran += 1;
                }
            }
        }
        assert_eq!(ran, 16_384);
    }

    #[test]
    fn the_last_of_a_byte_is_found() {
        for bits in 0..=255_u8 {
            // The bytes beside it differ least from what is looked for.
            for other in [b'!', b'#', b'"' | 0x80, 0] {
                let bytes = std::array::from_fn(|at| if bits >> at & 1 != 0 { b'"' } else { other });
                let expected = bytes.iter().rev().position(|byte| *byte == b'"');
                assert_eq!(bytes_behind_last(bytes, b'"'), expected, "{bytes:?}");
            }
        }
    }
}
