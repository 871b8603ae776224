//! The grams that texts are found by: a body is cut into pieces of four bytes, and each is looked up.

use super::classes::BLOCK_BYTES;
use super::index::slot;

/// Bytes of a gram, and how far grams lie apart in a body.
pub const GRAM_BYTES: usize = 4;
/// How many bits of a hash are looked up.
pub const MAP_BITS: u32 = 16;
/// How many of these tell the bit of a word.
pub const WORD_BITS: u32 = u32::BITS.ilog2();
const WORDS: usize = 1 << (MAP_BITS - WORD_BITS);
/// In each byte the bit that tells small letters from capitals.
pub const CASE: u32 = 0x2020_2020;

/// Grams by a bit of their hash, their case folded.
#[derive(Debug)]
pub struct GramMap {
    pub words: Box<[u32; WORDS]>,
    is_empty: bool,
}

impl Default for GramMap {
    fn default() -> Self {
        Self { words: Box::new([0; WORDS]), is_empty: true }
    }
}

impl GramMap {
    /// Enters a folded gram.
    pub fn add(&mut self, gram: u32) {
        let (word, bit) = place(gram);
        if let Some(word) = self.words.get_mut(word) {
            *word |= 1 << bit;
        }
        self.is_empty = false;
    }

    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Of the grams of a block those that may have been entered, the first in the lowest bit.
    #[inline]
    pub fn of_block(&self, block: &[u8; BLOCK_BYTES]) -> u64 {
        let (grams, _) = block.as_chunks();
        (0..).zip(grams).fold(0, |mask, (nth, gram)| {
            let (word, bit) = place(folded(*gram));
            // INVARIANT: a place has as many bits as there are words.
            mask | self.words.get(word).map_or(0, |word| u64::from(word >> bit & 1)) << nth
        })
    }
}

/// A gram whatever its case; other bytes that differ in this bit only are told apart later.
#[inline]
pub fn folded(gram: [u8; GRAM_BYTES]) -> u32 {
    u32::from_le_bytes(gram) | CASE
}

/// The word of a gram, and the bit in it.
#[inline]
fn place(gram: u32) -> (usize, u32) {
    let hash = slot(gram, u32::BITS - MAP_BITS);
    (hash >> WORD_BITS, hash as u32 % u32::BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_agree() {
        let mut map = GramMap::default();
        for gram in [*b"ghp_", *b"-KEY", *b"zzzz"] {
            map.add(folded(gram));
        }
        let (mut ran, mut seen) = (0, 0);
        for shift in 0..200 {
            let mut body = vec![b'z'; shift];
            body.extend((0..=255_u8).flat_map(|byte| [byte, byte.wrapping_mul(31), byte ^ 0x55]));
            body.extend(b"GHP_ghp_.-key-Key");
            for block in body.windows(BLOCK_BYTES).step_by(7).filter_map(|block| block.first_chunk()) {
                let plain = map.of_block(block);
                seen += plain.count_ones();
                #[cfg(target_arch = "x86_64")]
                if std::arch::is_x86_feature_detected!("avx512vbmi") {
                    // SAFETY: the feature was seen in the line above; it comes with the others.
                    #[expect(
                        unsafe_code,
                        reason = "a function for a feature of the processor is called in no other way"
                    )]
                    let fast = unsafe { super::super::classes::avx512::grams(&map, block) };
                    assert_eq!(fast, plain, "{shift}");
                }
                ran += 1;
            }
        }
        assert!(ran > 20_000 && seen > 1_000, "{ran} blocks, {seen} grams");
    }
}
