//! Where in a long text the literals of a set stand.
//!
//! A pattern that needs one of them need not be searched elsewhere. A text is cut into blocks of one length, and of each
//! set one bit for each block says whether a literal of it ends there: what is kept does not grow with the literals.

use std::ops::Range;

use super::literals::Words;

/// Places are not kept for shorter texts.
pub(crate) const MIN_BYTES: usize = 1024;
/// Places are not kept either if a text holds more than one literal for this many bytes: then a search of the whole
/// text costs less.
pub(crate) const BYTES_PER_LITERAL: usize = 32;
const MIN_BLOCK_BYTES: usize = 64;
/// Most blocks of a text.
const MAX_BLOCKS: usize = 1024;

/// How a text is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks {
    /// The logarithm to base 2 of their length in bytes.
    bits: u32,
    /// How many words hold the bits of all blocks for one set.
    words: usize,
}

impl Blocks {
    /// How a text of this length is cut.
    pub(crate) fn of(bytes: usize) -> Self {
        let block = bytes.div_ceil(MAX_BLOCKS).next_power_of_two().max(MIN_BLOCK_BYTES);
        Self { bits: block.trailing_zeros(), words: bytes.div_ceil(block).div_ceil(Words::BITS as usize) }
    }

    /// How many words hold the bits of all blocks for this number of sets.
    pub(crate) fn words_of(self, sets: usize) -> usize {
        self.words * sets
    }

    /// Notes that literals of these sets end at a byte.
    #[inline]
    pub(crate) fn note(self, kept: &mut [Words], sets: &[u32], at: usize) {
        let block = at >> self.bits;
        let (word, bit) = (block / Words::BITS as usize, 1 << (block % Words::BITS as usize));
        let kept = kept.get_mut(word..).unwrap_or_default();
        for set in sets {
            if let Some(word) = kept.get_mut(*set as usize * self.words) {
                *word |= bit;
            }
        }
    }
}

/// The blocks of a text in which literals of one set end.
#[derive(Clone, Copy, Debug)]
pub struct LiteralPlaces<'k> {
    marked: &'k [Words],
    bits: u32,
}

impl<'k> LiteralPlaces<'k> {
    /// Reads the places of one set from what was kept for a text of this length.
    pub(crate) fn of(kept: &'k [Words], set: u32, bytes: usize) -> Option<Self> {
        let blocks = Blocks::of(bytes);
        let from = set as usize * blocks.words;
        Some(Self { marked: kept.get(from..from + blocks.words)?, bits: blocks.bits })
    }

    /// How many bytes the blocks have together.
    pub(crate) fn bytes(self) -> usize {
        self.marked.iter().map(|word| word.count_ones() as usize).sum::<usize>() << self.bits
    }

    /// The blocks, in order, those side by side as one. The last may reach beyond the text.
    pub(crate) fn ranges(self) -> impl Iterator<Item = Range<usize>> + 'k {
        let mut next = 0;
        std::iter::from_fn(move || {
            let from = self.find(next, true)?;
            let end = self.find(from, false).unwrap_or(self.marked.len() * Words::BITS as usize);
            next = end;
            Some(from << self.bits..end << self.bits)
        })
    }

    /// The first block from one on that is marked, or that is not.
    fn find(self, from: usize, is_marked: bool) -> Option<usize> {
        let bits = Words::BITS as usize;
        let mut skipped = from % bits;
        for (nth, word) in self.marked.iter().enumerate().skip(from / bits) {
            let word = if is_marked { *word } else { !*word };
            let rest = word >> skipped << skipped;
            if rest != 0 {
                return Some(nth * bits + rest.trailing_zeros() as usize);
            }
            skipped = 0;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_told_by_set_in_order_and_joined() {
        for bytes in [1024, 1025, 4096, 65_536, 65_537, 1 << 20, 3_000_001] {
            let blocks = Blocks::of(bytes);
            assert!(blocks.words <= MAX_BLOCKS / 64 + 1);
            let mut kept = vec![0; blocks.words_of(3)];
            let ends = [0, 1, 63, 64, 700, 701, bytes / 2, bytes - 1];
            ends.iter().for_each(|at| blocks.note(&mut kept, &[1], *at));
            let ranges: Vec<Range<usize>> = LiteralPlaces::of(&kept, 1, bytes).unwrap().ranges().collect();
            assert!(ends.iter().all(|end| ranges.iter().any(|range| range.contains(end))), "{ranges:?}");
            let block = 1 << blocks.bits;
            assert!(ranges.iter().all(|range| ends.iter().any(|end| range.contains(end))));
            assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start), "{ranges:?}");
            let marked: usize = ranges.iter().map(|range| range.len()).sum();
            assert_eq!(LiteralPlaces::of(&kept, 1, bytes).unwrap().bytes(), marked);
            assert!(marked <= ends.len() * block);
            for other in [0, 2] {
                assert_eq!(LiteralPlaces::of(&kept, other, bytes).unwrap().ranges().count(), 0);
            }
            assert!(LiteralPlaces::of(&kept, 3, bytes).is_none());
        }
    }

    #[test]
    fn all_blocks_are_one_range() {
        let blocks = Blocks::of(8192);
        let mut kept = vec![0; blocks.words_of(1)];
        (0..8192).for_each(|at| blocks.note(&mut kept, &[0], at));
        let places = LiteralPlaces::of(&kept, 0, 8192).unwrap();
        assert!(places.ranges().eq(std::iter::once(0..8192)));
    }
}
