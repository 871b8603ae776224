//! The bytes that a match may begin with: most texts are told by one look that a pattern does not match.

use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// A set of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    pub const ALL: Self = Self([u64::MAX; 4]);
    const NONE: Self = Self([0; 4]);

    /// The bytes that a match of a pattern may begin with; all where it may be empty or the syntax says
    /// nothing of it.
    pub fn first_of(hir: &Hir) -> Self {
        Self::of_first(first(hir, true))
    }

    /// The same of a match that does not begin where the text does.
    pub fn first_beyond_start(hir: &Hir) -> Self {
        Self::of_first(first(hir, false))
    }

    fn of_first((set, may_be_empty): (Self, bool)) -> Self {
        if may_be_empty { Self::ALL } else { set }
    }

    #[inline]
    pub fn contains(&self, byte: u8) -> bool {
        let [a, b, c, d] = self.0;
        let word = match byte >> 6 {
            0 => a,
            1 => b,
            2 => c,
            _ => d,
        };
        word >> (byte & 63) & 1 != 0
    }

    fn with_range(mut self, start: u8, end: u8) -> Self {
        for byte in start..=end {
            if let Some(word) = self.0.get_mut(usize::from(byte >> 6)) {
                *word |= 1 << (byte & 63);
            }
        }
        self
    }

    fn or(self, other: Self) -> Self {
        let [a, b, c, d] = self.0;
        let [e, f, g, h] = other.0;
        Self([a | e, b | f, c | g, d | h])
    }
}

/// The set, and whether the pattern may match without a byte. What stands at the start of a text begins
/// with nothing where the match does not begin there.
fn first(hir: &Hir, at_start: bool) -> (ByteSet, bool) {
    match hir.kind() {
        HirKind::Look(Look::Start) if !at_start => (ByteSet::NONE, false),
        HirKind::Empty | HirKind::Look(_) => (ByteSet::NONE, true),
        HirKind::Literal(literal) => match literal.0.first() {
            Some(byte) => (ByteSet::NONE.with_range(*byte, *byte), false),
            None => (ByteSet::NONE, true),
        },
        HirKind::Class(Class::Bytes(class)) => {
            let ranges = class.ranges().iter();
            (ranges.fold(ByteSet::NONE, |set, range| set.with_range(range.start(), range.end())), false)
        }
        HirKind::Class(Class::Unicode(_)) => (ByteSet::ALL, false),
        HirKind::Repetition(repetition) => {
            let (set, empty) = first(&repetition.sub, at_start);
            (set, empty || repetition.min == 0)
        }
        HirKind::Capture(capture) => first(&capture.sub, at_start),
        HirKind::Concat(parts) => {
            let mut all = ByteSet::NONE;
            for part in parts {
                let (set, empty) = first(part, at_start);
                all = all.or(set);
                if !empty {
                    return (all, false);
                }
            }
            (all, true)
        }
        HirKind::Alternation(parts) => {
            let parts = parts.iter().map(|part| first(part, at_start));
            parts.fold((ByteSet::NONE, false), |(all, any), (set, empty)| (all.or(set), any || empty))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::LazyPattern;

    #[test]
    fn no_match_begins_with_another_byte() {
        let cases: &[(&str, &[u8])] = &[
            ("^(?:abc|x)", b"ax"),
            ("(?i)ab", b"aA"),
            ("[0-2]{3}b", b"012"),
            ("a?b", b"ab"),
            ("\\b(?:a|)c", b"ac"),
            ("(a*)(b+)c", b"ab"),
            ("[^\\x00-\\xfd]", &[0xFE, 0xFF]),
        ];
        for (pattern, expected) in cases {
            let set = LazyPattern::new(pattern).unwrap().first_bytes();
            let found: Vec<u8> = (0..=255).filter(|byte| set.contains(*byte)).collect();
            let mut expected = expected.to_vec();
            expected.sort_unstable();
            assert_eq!(found, expected, "{pattern}");
        }
        for pattern in ["", "a*", "(?=a)b", "a|"] {
            assert!((0..=255).all(|byte| LazyPattern::new(pattern).unwrap().first_bytes().contains(byte)));
        }
    }
}
