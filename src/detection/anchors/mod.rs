//! The one pass over a body that says where a rule may begin. Everything it names is looked at again.

pub mod classes;
pub mod index;
pub mod literals;

use classes::{BLOCK_BYTES, Block, ShortTexts, classify};
use literals::Literals;

/// Bytes of a body that are looked at in one go: their classes stay in the first cache.
pub const CHUNK_BYTES: usize = BLOCKS * BLOCK_BYTES;
/// Blocks of a chunk.
const BLOCKS: usize = 128;
/// Shortest number that is looked at, separators counted.
pub const MIN_NUMBER_BYTES: usize = 7;
/// Shortest token that is looked at.
pub const MIN_TOKEN_BYTES: usize = 16;
/// How much of a token is looked at for its length and its digits.
pub const MAX_TOLD_TOKEN_BYTES: u32 = 40;

/// Sixteen and more letters, digits, hyphens and underscores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub start: usize,
    /// Its length, or more than [`MAX_TOLD_TOKEN_BYTES`].
    pub bytes: u32,
    /// Whether there is a digit in what is told of it.
    pub has_digit: bool,
}

/// Places in a body, by what stands there. Within one kind they ascend.
#[derive(Debug, Default)]
pub struct Candidates {
    /// Where seven and more capital letters and digits begin, single separators between them allowed.
    pub numbers: Vec<usize>,
    pub tokens: Vec<Token>,
    pub at_signs: Vec<usize>,
    /// The first of five colons or hyphens, each three bytes from the next.
    pub pairs: Vec<usize>,
    /// Where a gram of a long text stands.
    pub grams: Vec<usize>,
    /// Where the rarest three bytes of a short text stand.
    pub shorts: Vec<usize>,
    /// Where a character reference, an escape or a tag inside a number may begin.
    pub escapes: Vec<usize>,
}

/// What a pass keeps between chunks.
#[derive(Debug, Default)]
pub struct Pass {
    /// The block before the chunk, those of the chunk, and the one behind it, for what goes on across its
    /// ends.
    blocks: Vec<Block>,
    pub found: Candidates,
}

impl Pass {
    /// Begins another body.
    pub fn begin(&mut self) {
        self.blocks.clear();
        self.blocks.resize(BLOCKS + 2, Block::default());
    }

    /// Looks at the chunk of `body` from `start` on, a multiple of [`CHUNK_BYTES`]; chunks come in order.
    pub fn chunk(&mut self, body: &[u8], start: usize, literals: &Literals) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("avx512vbmi")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
        {
            // SAFETY: as below.
            #[expect(
                unsafe_code,
                reason = "a function for a feature of the processor is called in no other way"
            )]
            unsafe {
                self.chunk_avx512(body, start, literals);
            }
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("bmi1") {
            // SAFETY: the function is safe but for the features that it is compiled for, and the line
            // above has seen them in this processor. `all_forms_agree` and the fuzz target
            // `scanner` hold what it does to the portable form.
            #[expect(
                unsafe_code,
                reason = "a function for a feature of the processor is called in no other way"
            )]
            unsafe {
                self.chunk_avx2(body, start, literals);
            }
            return;
        }
        self.chunk_with(body, start, literals, classes::portable_blocks);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1")]
    fn chunk_avx2(&mut self, body: &[u8], start: usize, literals: &Literals) {
        self.chunk_with(body, start, literals, |rest, texts, blocks| {
            classes::avx2::blocks(rest, texts, blocks);
        });
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi1,bmi2")]
    fn chunk_avx512(&mut self, body: &[u8], start: usize, literals: &Literals) {
        self.chunk_with(body, start, literals, |rest, texts, blocks| {
            classes::avx512::blocks(rest, texts, blocks);
        });
    }

    /// Inlined, so that it is compiled for the features of its caller.
    #[inline(always)]
    fn chunk_with(
        &mut self,
        body: &[u8],
        start: usize,
        literals: &Literals,
        whole_blocks: impl Fn(&[u8], &ShortTexts, &mut [Block]),
    ) {
        self.found.clear();
        literals.grams(body, start, start + CHUNK_BYTES, &mut self.found.grams);
        let last_block = self.blocks.get(BLOCKS).copied();
        if let Some((before, blocks)) = self.blocks.split_first_mut() {
            *before = last_block.filter(|_| start > 0).unwrap_or_default();
            classify(body, start, &literals.short_texts, blocks, whole_blocks);
        }
        for (nth, three) in self.blocks.array_windows().enumerate() {
            let [before, block, next] = three;
            self.found.block(start + nth * BLOCK_BYTES, before, block, next);
        }
    }
}

impl Candidates {
    fn clear(&mut self) {
        self.tokens.clear();
        for places in [
            &mut self.numbers,
            &mut self.at_signs,
            &mut self.pairs,
            &mut self.grams,
            &mut self.shorts,
            &mut self.escapes,
        ] {
            places.clear();
        }
    }

    /// What begins in a block.
    #[inline(always)]
    fn block(&mut self, start: usize, before: &Block, block: &Block, next: &Block) {
        let last = |mask: u64| mask >> 63;
        let capital = block.capital;
        // Few blocks hold a number at all.
        if without_lowest_three(capital) != 0 || capital >> (BLOCK_BYTES - MIN_NUMBER_BYTES) != 0 {
            let lone =
                block.separator & (capital << 1 | last(before.capital)) & (capital >> 1 | next.capital << 63);
            let number = capital | lone;
            // A separator at the very end of the block before this one belongs to a number that began there.
            let lone_before = last(before.separator) & before.capital >> 62 & capital & 1;
            let begins = capital & !(number << 1 | last(before.capital) | lone_before);
            let long = begins & runs_of_7(number);
            let lone_next = next.separator & (next.capital << 1 | last(capital)) & next.capital >> 1;
            let goes_on = next.capital | lone_next;
            push(&mut self.numbers, start, without_short_end(long, goes_on, MIN_NUMBER_BYTES));
        }

        let begins = block.token & !(block.token << 1 | last(before.token));
        let long = begins & runs_of_16(block.token);
        let mut long = without_short_end(long, next.token, MIN_TOKEN_BYTES);
        while long != 0 {
            let at = long.trailing_zeros();
            let from = |block: u64, next: u64| u128::from(block) >> at | u128::from(next) << (64 - at);
            let bytes = from(block.token, next.token).trailing_ones();
            let digits = from(block.digit, next.digit).trailing_zeros();
            let has_digit = digits < bytes.min(MAX_TOLD_TOKEN_BYTES);
            self.tokens.push(Token { start: start + at as usize, bytes, has_digit });
            long &= long - 1;
        }

        push(&mut self.at_signs, start, block.at);
        push(&mut self.shorts, start, block.short);
        let ahead = |by: u32| block.pair >> by | next.pair << (64 - by);
        push(&mut self.pairs, start, block.pair & ahead(3) & ahead(6) & ahead(9) & ahead(12));

        let tag = block.less & (block.digit << 1 | last(before.digit));
        // `&&` and a `\\` begin nothing.
        let alone = block.lead & !(block.lead << 1 | last(before.lead));
        let lead = alone & (block.follows >> 1 | next.follows << 63);
        push(&mut self.escapes, start, lead | tag);
    }
}

/// The last run of a block may reach its end: it is as long as it goes on in the next block.
#[inline(always)]
fn without_short_end(begins: u64, next: u64, length: usize) -> u64 {
    let in_block = begins.leading_zeros() + 1;
    let is_short = begins != 0 && in_block + next.trailing_ones() < length as u32;
    if is_short { begins & !(1 << (in_block.wrapping_neg() & 63)) } else { begins }
}

/// What is left of a mask without its lowest three bits: nothing if a block has too few capitals for a
/// number, in which separators stand singly.
#[inline(always)]
fn without_lowest_three(mask: u64) -> u64 {
    let lowest = |mask: u64| mask & mask.wrapping_sub(1);
    lowest(lowest(lowest(mask)))
}

/// Where seven set bits begin; those behind the end count as set.
#[inline(always)]
fn runs_of_7(mask: u64) -> u64 {
    let two = mask & ahead(mask, 1);
    let four = two & ahead(two, 2);
    four & ahead(four, 3)
}

/// Where sixteen set bits begin; those behind the end count as set.
#[inline(always)]
fn runs_of_16(mask: u64) -> u64 {
    let two = mask & ahead(mask, 1);
    let four = two & ahead(two, 2);
    let eight = four & ahead(four, 4);
    eight & ahead(eight, 8)
}

/// The bits `by` places on; those behind the end are set.
#[inline(always)]
fn ahead(mask: u64, by: u32) -> u64 {
    mask >> by | !(u64::MAX >> by)
}

#[inline(always)]
fn push(places: &mut Vec<usize>, start: usize, mut mask: u64) {
    while mask != 0 {
        places.push(start + mask.trailing_zeros() as usize);
        mask &= mask - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(body: &[u8]) -> Vec<Candidates> {
        let (mut pass, literals) = (Pass::default(), Literals::default());
        pass.begin();
        let chunks = (0..body.len()).step_by(CHUNK_BYTES).map(|start| {
            pass.chunk(body, start, &literals);
            std::mem::take(&mut pass.found)
        });
        chunks.collect()
    }

    #[test]
    fn what_begins_where_does_not_depend_on_the_place() {
        let text = b"x 123-45-6789 AB12345 ab_cdefghijklmnop-q 00:11:22:33:44:55 a@b 12";
        let mut ran = 0;
        for shift in (0..130).chain(CHUNK_BYTES - 80..CHUNK_BYTES + 10) {
            let mut body = vec![b'\n'; shift];
            body.extend(text);
            let found = candidates(&body);
            let all = |of: fn(&Candidates) -> &Vec<usize>| -> Vec<usize> {
                found.iter().flat_map(of).map(|at| at - shift).collect()
            };
            assert_eq!(all(|c| &c.numbers), [2], "{shift}");
            let tokens: Vec<Token> = found.iter().flat_map(|found| found.tokens.clone()).collect();
            assert_eq!(tokens, [Token { start: 22 + shift, bytes: 19, has_digit: false }], "{shift}");
            assert_eq!(all(|c| &c.at_signs), [61], "{shift}");
            assert_eq!(all(|c| &c.pairs), [44], "{shift}");
            ran += 1;
        }
        assert_eq!(ran, 220);
    }
}
