//! Pairs of bytes that something in a language begins with.
//!
//! Texts hold the first bytes of most pairs all the time, so that a branch for each would be guessed wrong: a pair is
//! looked up without one.

/// Up to 16 kinds of pairs.
pub(super) struct BytePairs {
    /// The kinds that begin with a byte, one bit each.
    first: [u16; 256],
    /// Those that go on with it.
    second: [u16; 256],
}

impl BytePairs {
    /// Of kinds: each is one of the first bytes and one of the second ones; any byte if there are none.
    pub(super) const fn of(kinds: &[(&[u8], &[u8])]) -> Self {
        let (mut first, mut second) = ([0; 256], [0; 256]);
        let mut kind = 0;
        while kind < kinds.len() {
            let (firsts, seconds) = kinds[kind];
            let mut at = 0;
            while at < firsts.len() {
                first[firsts[at] as usize] |= 1 << kind;
                at += 1;
            }
            let mut at = 0;
            while at < if seconds.is_empty() { 256 } else { seconds.len() } {
                second[if seconds.is_empty() { at } else { seconds[at] as usize }] |= 1 << kind;
                at += 1;
            }
            kind += 1;
        }
        Self { first, second }
    }

    /// The kinds that two bytes are, one bit each.
    #[inline]
    pub(super) fn kinds(&self, first: u8, second: u8) -> u16 {
        let of = |table: &[u16; 256], byte: u8| table.get(usize::from(byte)).copied().unwrap_or_default();
        of(&self.first, first) & of(&self.second, second)
    }

    /// Where the first pair of a text stands.
    #[inline]
    pub(super) fn find(&self, text: &[u8]) -> Option<usize> {
        text.windows(2).position(|pair| match pair {
            [first, second] => self.kinds(*first, *second) != 0,
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_those_of_each_kind() {
        const PAIRS: BytePairs = BytePairs::of(&[(b"ab", b"xy"), (b"c", b"c"), (b";", b"")]);
        for (text, at) in [
            ("", None),
            ("a", None),
            ("ax", Some(0)),
            ("ac", None),
            ("zby", Some(1)),
            ("cax", Some(1)),
            ("acc", Some(1)),
            ("; ", Some(0)),
            (";", None),
            ("x;\u{0}", Some(1)),
        ] {
            assert_eq!(PAIRS.find(text.as_bytes()), at, "{text}");
        }
    }
}
