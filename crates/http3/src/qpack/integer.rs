//! Integers with a prefix of some bits (RFC 7541 section 5.1).

/// The largest integer that is read: lengths and places in tables are far below it.
const MAX: u64 = 1 << 32;

/// Takes an integer off the bytes, whose first holds it in its low `bits`; `None` if they end within it, or if it is
/// larger than anything that it could mean.
pub(super) fn take(bits: u32, bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    let most = (1 << bits) - 1;
    let mut value = u64::from(*first) & most;
    if value < most {
        return Some(value);
    }
    for shift in (0..=28).step_by(7) {
        let (next, rest) = bytes.split_first()?;
        *bytes = rest;
        value += u64::from(next & 0x7f) << shift;
        if next & 0x80 == 0 {
            return (value <= MAX).then_some(value);
        }
    }
    None
}

/// Writes an integer behind the high bits of its first byte.
pub(super) fn write(high: u8, bits: u32, mut value: u64, to: &mut Vec<u8>) {
    let most = (1 << bits) - 1;
    if value < most {
        to.push(high | low_byte(value));
        return;
    }
    to.push(high | low_byte(most));
    value -= most;
    while value >= 0x80 {
        to.push(low_byte(value) | 0x80);
        value >>= 7;
    }
    to.push(low_byte(value));
}

fn low_byte(value: u64) -> u8 {
    let [.., low] = value.to_be_bytes();
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7541 appendix C.1, and the ends.
    #[test]
    fn the_examples_of_the_rfc() {
        for (bits, value, bytes) in [
            (5, 10, &[0x0a][..]),
            (5, 1337, &[0x1f, 0x9a, 0x0a]),
            (8, 42, &[0x2a]),
            (3, 7, &[0x07, 0x00]),
            (7, MAX, &[0x7f, 0x81, 0xff, 0xff, 0xff, 0x0f]),
        ] {
            let mut written = Vec::new();
            write(0, bits, value, &mut written);
            assert_eq!(written, bytes);
            let mut left = bytes;
            assert_eq!(take(bits, &mut left), Some(value));
            assert!(left.is_empty());
            for short in 0..bytes.len() {
                assert_eq!(take(bits, &mut &bytes[..short]), None);
            }
        }
        assert_eq!(take(7, &mut &[0x7f, 0x82, 0xff, 0xff, 0xff, 0x0f][..]), None);
        assert_eq!(take(5, &mut &[0x1f, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00][..]), None);
    }
}
