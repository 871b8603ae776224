//! The grams that texts are found by: a body is cut into pieces of four bytes, and each is looked up. Most that are
//! known stand in other words, so these are looked up again with the bytes beside them.

use super::classes::BLOCK_BYTES;
use super::index::slot;

/// Bytes of a gram, and how far grams lie apart in a body.
pub const GRAM_BYTES: usize = 4;
/// How many bits of a hash are looked up.
pub const MAP_BITS: u32 = 16;
/// How many of these tell the bit of a word.
pub const WORD_BITS: u32 = u32::BITS.ilog2();
/// In each byte the bit that tells small letters from capitals.
pub const CASE: u32 = 0x2020_2020;
/// Bytes on one side of a gram that are looked up with it.
const BESIDE_BYTES: usize = 2;
/// The bits of these.
const BESIDE_BITS: u32 = BESIDE_BYTES as u32 * u8::BITS;

/// One bit for each hash.
type Bits = [u32; 1 << (MAP_BITS - WORD_BITS)];

/// Grams of texts, ignoring case; some that are of no text seem to be.
#[derive(Debug)]
pub struct GramMap {
    pub grams: Box<Bits>,
    /// Grams with the bytes before or behind them.
    wide: Box<Bits>,
}

impl Default for GramMap {
    fn default() -> Self {
        let none = [0; 1 << (MAP_BITS - WORD_BITS)];
        Self { grams: Box::new(none), wide: Box::new(none) }
    }
}

impl GramMap {
    /// Enters the gram at `offset` of a text and returns it; `None` if there are too few bytes beside it.
    pub fn add(&mut self, text: &[u8], offset: usize) -> Option<u32> {
        let gram = folded(*text.get(offset..)?.first_chunk()?);
        let before = || six(text, offset.checked_sub(BESIDE_BYTES)?).map(|six| six << BESIDE_BITS);
        let wide = six(text, offset).or_else(before)?;
        set(&mut self.grams, hash(gram));
        set(&mut self.wide, wide_hash(wide));
        Some(gram)
    }

    /// Of the grams of a block those that may be of a text, the first in the lowest bit. Inlined, so that it is
    /// compiled for the features of its caller.
    #[inline(always)]
    pub fn of_block(&self, block: &[u8; BLOCK_BYTES]) -> u64 {
        let (grams, _) = block.as_chunks();
        let bit = |gram: &[u8; GRAM_BYTES]| u64::from(has(&self.grams, hash(folded(*gram))));
        (0..).zip(grams).fold(0, |mask, (nth, gram)| mask | bit(gram) << nth)
    }

    /// Whether the gram at `gram` may be of a text with what stands beside it.
    #[inline]
    pub fn may_stand(&self, body: &[u8], gram: usize) -> bool {
        let eight =
            gram.checked_sub(BESIDE_BYTES).and_then(|at| body.get(at..)).and_then(|rest| rest.first_chunk());
        // At an end of the body there may be none before it, or behind it.
        let Some(eight) = eight else { return true };
        let eight = u64::from_le_bytes(*eight) | WIDE_CASE;
        has(&self.wide, wide_hash(eight << BESIDE_BITS)) | has(&self.wide, wide_hash(eight >> BESIDE_BITS))
    }
}

/// The same of eight bytes.
pub const WIDE_CASE: u64 = (CASE as u64) << 32 | CASE as u64;

/// Six bytes of a text, ignoring case.
fn six(text: &[u8], at: usize) -> Option<u64> {
    let [a, b, c, d, e, f] = *text.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]) | WIDE_CASE >> BESIDE_BITS)
}

#[inline]
fn hash(gram: u32) -> usize {
    slot(gram, u32::BITS - MAP_BITS)
}

/// Six bytes, those with bytes before the gram moved up: the two sides are told apart.
#[inline]
fn wide_hash(six: u64) -> usize {
    (six.wrapping_mul(WIDE_MIX) >> (u64::BITS - MAP_BITS)) as usize
}

/// 2^64 divided by the golden ratio.
const WIDE_MIX: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline]
fn has(bits: &Bits, hash: usize) -> bool {
    // INVARIANT: there is a bit for each hash.
    bits.get(hash >> WORD_BITS).is_some_and(|word| word >> (hash as u32 % u32::BITS) & 1 != 0)
}

fn set(bits: &mut Bits, hash: usize) {
    if let Some(word) = bits.get_mut(hash >> WORD_BITS) {
        *word |= 1 << (hash as u32 % u32::BITS);
    }
}

/// A gram in which upper and lower case are the same. It also joins other bytes that differ in this bit; the
/// comparison that follows keeps them apart.
#[inline]
pub fn folded(gram: [u8; GRAM_BYTES]) -> u32 {
    u32::from_le_bytes(gram) | CASE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_agree() {
        let mut map = GramMap::default();
        for (text, offset) in [("ghp_12", 0), ("x.-KEY", 2), ("zzzzzz", 0)] {
            assert!(map.add(text.as_bytes(), offset).is_some(), "{text}");
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

    #[test]
    fn a_gram_stands_with_what_is_beside_it() {
        let mut map = GramMap::default();
        assert!(map.add(b"ghp_12", 0).is_some() && map.add(b"x.-KEY", 2).is_some());
        assert_eq!([map.add(b"ghp_1", 0), map.add(b"ghp_1", 4), map.add(b"", 0)], [None; 3]);
        for (body, is_kept) in [
            ("..ghp_12", true),
            ("..GHP_12", true),
            ("..ghp_34", false),
            ("12ghp_..", false),
            ("X.-key..", true),
            ("..-key..", false),
            // Nothing tells at an end of the body.
            ("34ghp_1", true),
        ] {
            assert_eq!(map.may_stand(body.as_bytes(), 2), is_kept, "{body}");
        }
    }
}
