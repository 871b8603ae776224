//! Sets of byte values: what a text holds, what a pattern needs, what a transformation touches.

/// A set of byte values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteSet([u64; 4]);

/// PERF: benches/waf_match.rs. From here on a table of all bytes is faster than setting bits.
const LONG_BYTES: usize = 256;

impl ByteSet {
    pub const EMPTY: Self = Self([0; 4]);
    pub const ALL: Self = Self([u64::MAX; 4]);

    /// The bytes that occur in a text.
    pub const fn of(text: &[u8]) -> Self {
        let mut words = [0; 4];
        let mut rest = text;
        while let [byte, tail @ ..] = rest {
            words = with(words, *byte);
            rest = tail;
        }
        Self(words)
    }

    /// The same of a text that may be long.
    pub fn of_text(text: &[u8]) -> Self {
        if text.len() < LONG_BYTES {
            let mut set = Self::EMPTY;
            for byte in text {
                if let Some(word) = set.0.get_mut(usize::from(byte >> 6)) {
                    *word |= 1 << (byte & 63);
                }
            }
            return set;
        }
        // Stores that do not wait for each other.
        let mut table = [0u8; 256];
        for byte in text {
            if let Some(entry) = table.get_mut(usize::from(*byte)) {
                *entry = 1;
            }
        }
        let mut set = Self::EMPTY;
        for (word, part) in set.0.iter_mut().zip(table.chunks_exact(64)) {
            *word = part.iter().rev().fold(0, |bits, entry| bits << 1 | u64::from(*entry));
        }
        set
    }

    /// With all bytes from `first` to `last`.
    #[must_use]
    pub const fn and(self, first: u8, last: u8) -> Self {
        let mut words = self.0;
        let mut byte = first;
        while byte < last {
            words = with(words, byte);
            byte += 1;
        }
        Self(if first <= last { with(words, last) } else { words })
    }

    /// All bytes that are not in it.
    #[must_use]
    pub const fn others(self) -> Self {
        let [a, b, c, d] = self.0;
        Self([!a, !b, !c, !d])
    }

    #[inline]
    pub fn has(&self, byte: u8) -> bool {
        self.0.get(usize::from(byte >> 6)).is_some_and(|word| word >> (byte & 63) & 1 == 1)
    }

    #[inline]
    pub fn intersects(&self, other: &Self) -> bool {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        (a & e) | (b & f) | (c & g) | (d & h) != 0
    }

    #[must_use]
    #[inline]
    pub fn union(&self, other: &Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Self([a | e, b | f, c | g, d | h])
    }

    /// How many values it has.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

/// The words with the bit of a byte set.
const fn with([a, b, c, d]: [u64; 4], byte: u8) -> [u64; 4] {
    let bit = 1 << (byte & 63);
    match byte >> 6 {
        0 => [a | bit, b, c, d],
        1 => [a, b | bit, c, d],
        2 => [a, b, c | bit, d],
        _ => [a, b, c, d | bit],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_place() {
        let all: Vec<u8> = (0..=255).collect();
        for byte in 0..=255 {
            let set = ByteSet::of(&[byte]);
            assert!((0..=255).all(|other| set.has(other) == (other == byte)));
            assert_eq!(set, ByteSet::EMPTY.and(byte, byte));
            let others: Vec<u8> = all.iter().copied().filter(|other| *other != byte).collect();
            let long = others.repeat(3);
            assert_eq!(ByteSet::of_text(&long), ByteSet::of(&others));
            assert!(!set.intersects(&ByteSet::of_text(&long)) && ByteSet::of(&others).count() == 255);
        }
        assert_eq!(ByteSet::of(&all), ByteSet::EMPTY.and(0, 255));
        assert_eq!(ByteSet::EMPTY.and(5, 4), ByteSet::EMPTY);
        assert_eq!(ByteSet::EMPTY.and(0, 99).others(), ByteSet::EMPTY.and(100, 255));
        assert_eq!(ByteSet::of(b"ab").union(&ByteSet::of(b"c")), ByteSet::EMPTY.and(b'a', b'c'));
    }
}
