//! Find: the one pass over a body that lists the places where a rule may begin. Each is looked at again.

mod byte_pairs;
pub mod classes;
pub mod grams;
pub mod index;
pub mod literals;

use std::ops::Range;

use classes::{BLOCK_BYTES, BLOCKS, Classes, Masks, ShortTexts, classify};
use grams::GramMap;
use literals::Literals;

/// Bytes of a body that are looked at in one go: their classes stay in the first cache.
pub const CHUNK_BYTES: usize = BLOCKS * BLOCK_BYTES;
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
    /// Whether a tag may begin anywhere.
    pub has_tags: bool,
}

/// What a pass keeps between chunks.
#[derive(Debug, Default)]
pub struct Pass {
    classes: Box<Classes>,
    begins: Box<Begins>,
    pub found: Candidates,
}

/// Where something begins in the blocks of a chunk.
#[derive(Debug)]
struct Begins {
    numbers: [u64; BLOCKS],
    tokens: [u64; BLOCKS],
    pairs: [u64; BLOCKS],
    escapes: [u64; BLOCKS],
}

impl Default for Begins {
    fn default() -> Self {
        Self { numbers: [0; BLOCKS], tokens: [0; BLOCKS], pairs: [0; BLOCKS], escapes: [0; BLOCKS] }
    }
}

impl Pass {
    /// Looks at the chunk of `body` from `start` on, a multiple of [`CHUNK_BYTES`]; chunks come in order.
    pub fn chunk(&mut self, body: &[u8], start: usize, literals: &Literals) -> &Candidates {
        self.classify(body, start, literals);
        &self.found
    }

    fn classify(&mut self, body: &[u8], start: usize, literals: &Literals) {
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
        let grams = |map: &GramMap, block: &[u8; BLOCK_BYTES]| map.of_block(block);
        self.chunk_with(body, start, literals, grams, classes::portable_blocks);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1")]
    fn chunk_avx2(&mut self, body: &[u8], start: usize, literals: &Literals) {
        let grams = |map: &GramMap, block: &[u8; BLOCK_BYTES]| map.of_block(block);
        self.chunk_with(body, start, literals, grams, |rest, texts, blocks, classes| {
            classes::avx2::blocks(rest, texts, blocks, classes);
        });
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi1,bmi2")]
    fn chunk_avx512(&mut self, body: &[u8], start: usize, literals: &Literals) {
        let grams = |map: &GramMap, block: &[u8; BLOCK_BYTES]| classes::avx512::grams(map, block);
        self.chunk_with(body, start, literals, grams, |rest, texts, blocks, classes| {
            classes::avx512::blocks(rest, texts, blocks, classes);
        });
    }

    /// Inlined, so that it is compiled for the features of its caller.
    #[inline(always)]
    fn chunk_with(
        &mut self,
        body: &[u8],
        start: usize,
        literals: &Literals,
        grams: impl Fn(&GramMap, &[u8; BLOCK_BYTES]) -> u64,
        whole_blocks: impl Fn(&[u8], &ShortTexts, Range<usize>, &mut Classes),
    ) {
        self.found.clear();
        literals.grams(body, start, start + CHUNK_BYTES, &mut self.found.grams, grams);
        classify(body, start, &literals.short_texts, &mut self.classes, whole_blocks);
        self.begins.of(&self.classes);
        self.found.places(start, &self.classes, &self.begins);
        literals.keep_shorts(body, &mut self.found.shorts);
    }
}

impl Begins {
    /// PERF: benches/detection.rs. Without a branch, so that several blocks are worked out in one step.
    #[inline(always)]
    fn of(&mut self, classes: &Classes) {
        for nth in 0..BLOCKS {
            let three = |masks: &Masks| Three::of(masks, nth);
            let (digit, capital, token) =
                (three(&classes.digit), three(&classes.capital), three(&classes.token));
            let set = |masks: &mut [u64; BLOCKS], mask| {
                if let Some(to) = masks.get_mut(nth) {
                    *to = mask;
                }
            };
            let number = capital.or(three(&classes.separator).and(capital.behind(1)).and(capital.ahead(1)));
            set(&mut self.numbers, capital.here & !number.behind(1).here & number.runs_of_7());
            set(&mut self.tokens, token.here & !token.behind(1).here & token.runs_of_16());
            let pair = three(&classes.pair);
            let six = pair.and(pair.ahead(3));
            set(&mut self.pairs, six.and(six.ahead(6)).here & pair.ahead(12).here);
            let lead = three(&classes.lead);
            // `&&` and a `\\` begin nothing.
            let alone = lead.here & !lead.behind(1).here & three(&classes.follows).ahead(1).here;
            set(&mut self.escapes, alone | three(&classes.less).here & digit.behind(1).here);
        }
    }
}

/// The masks of one kind of three blocks: what begins in the middle one goes on in the next, and may have gone
/// on since the one before.
#[derive(Clone, Copy)]
struct Three {
    before: u64,
    here: u64,
    next: u64,
}

impl Three {
    /// Those around block `nth` of a chunk.
    #[inline(always)]
    fn of(masks: &Masks, nth: usize) -> Self {
        let at = |nth: usize| masks.get(nth).copied().unwrap_or_default();
        Self { before: at(nth), here: at(nth + 1), next: at(nth + 2) }
    }

    /// At each place what stands `by` places on; behind the third block stands nothing.
    #[inline(always)]
    fn ahead(self, by: u32) -> Self {
        let Self { before, here, next } = self;
        let back = 64 - by;
        Self { before: before >> by | here << back, here: here >> by | next << back, next: next >> by }
    }

    /// At each place what stands `by` places before it; before the first block stands nothing.
    #[inline(always)]
    fn behind(self, by: u32) -> Self {
        let Self { before, here, next } = self;
        let back = 64 - by;
        Self { before: before << by, here: here << by | before >> back, next: next << by | here >> back }
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self {
            before: self.before & other.before,
            here: self.here & other.here,
            next: self.next & other.next,
        }
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self {
            before: self.before | other.before,
            here: self.here | other.here,
            next: self.next | other.next,
        }
    }

    /// Where seven set bits begin.
    #[inline(always)]
    fn runs_of_7(self) -> u64 {
        let two = self.and(self.ahead(1));
        let four = two.and(two.ahead(2));
        four.here & four.ahead(3).here
    }

    /// Where sixteen set bits begin.
    #[inline(always)]
    fn runs_of_16(self) -> u64 {
        let two = self.and(self.ahead(1));
        let four = two.and(two.ahead(2));
        let eight = four.and(four.ahead(4));
        eight.here & eight.ahead(8).here
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

    /// Adds what begins in a chunk.
    #[inline(always)]
    fn places(&mut self, start: usize, classes: &Classes, begins: &Begins) {
        push(&mut self.numbers, start, &begins.numbers);
        push(&mut self.pairs, start, &begins.pairs);
        push(&mut self.escapes, start, &begins.escapes);
        push(&mut self.at_signs, start, of_chunk(&classes.at));
        push(&mut self.shorts, start, of_chunk(&classes.short));
        self.has_tags = of_chunk(&classes.less).iter().fold(0, |all, less| all | less) != 0;
        for_each_filled(&begins.tokens, |nth, mut mask| {
            let (token, digit) = (Three::of(&classes.token, nth), Three::of(&classes.digit, nth));
            while mask != 0 {
                let at = mask.trailing_zeros();
                let from = |three: Three| u128::from(three.here) >> at | u128::from(three.next) << (64 - at);
                let bytes = from(token).trailing_ones();
                let digits = from(digit).trailing_zeros();
                let has_digit = digits < bytes.min(MAX_TOLD_TOKEN_BYTES);
                self.tokens.push(Token { start: start + nth * BLOCK_BYTES + at as usize, bytes, has_digit });
                mask &= mask - 1;
            }
        });
    }
}

/// Of all masks those of the chunk itself.
#[inline(always)]
fn of_chunk(masks: &Masks) -> &[u64; BLOCKS] {
    const NONE: &[u64; BLOCKS] = &[0; BLOCKS];
    // INVARIANT: there is one before them, and one behind.
    masks.get(1..).and_then(|masks| masks.first_chunk()).unwrap_or(NONE)
}

/// The masks of a chunk that have a bit, and which block they are of: most have none.
#[inline(always)]
fn for_each_filled(masks: &[u64; BLOCKS], mut each: impl FnMut(usize, u64)) {
    let (halves, _) = masks.as_chunks::<64>();
    for (masks, first) in halves.iter().zip([0, 64]) {
        let mut filled =
            (0..).zip(masks).fold(0, |filled, (nth, mask)| filled | u64::from(*mask != 0) << nth);
        while filled != 0 {
            let nth = filled.trailing_zeros() as usize;
            each(first + nth, masks.get(nth).copied().unwrap_or_default());
            filled &= filled - 1;
        }
    }
}

#[inline(always)]
fn push(places: &mut Vec<usize>, start: usize, masks: &[u64; BLOCKS]) {
    for_each_filled(masks, |nth, mut mask| {
        while mask != 0 {
            places.push(start + nth * BLOCK_BYTES + mask.trailing_zeros() as usize);
            mask &= mask - 1;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(body: &[u8]) -> Vec<Candidates> {
        let (mut pass, literals) = (Pass::default(), Literals::default());
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
