//! Which kinds of byte stand where in a body: one bit for each byte, 64 bytes a block.
//!
//! With AVX-512 a block takes less than twenty cycles, with AVX2 forty; without, it is done byte by byte. All
//! forms agree, but that these two name more places for short texts.

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 64;
/// Blocks that are classified in one go.
pub const BLOCKS: usize = 128;
/// What is read for one block: its bytes, and two more for texts that begin at its end.
pub const WINDOW_BYTES: usize = BLOCK_BYTES + 2;

/// The bytes of one block by kind; the lowest bit stands for the first byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    pub digit: u64,
    /// Capital letters and digits.
    pub capital: u64,
    /// Letters, digits, hyphens and underscores.
    pub token: u64,
    /// Space, hyphen, point or slash: what groups of a number stand apart by.
    pub separator: u64,
    /// Colon or hyphen: what pairs of hexadecimal digits stand apart by.
    pub pair: u64,
    pub at: u64,
    /// `&`, `\` or `%`: where a character reference or an escape may begin.
    pub lead: u64,
    /// Letters, digits, `#`, `/` and quotes: what may stand behind one of these.
    pub follows: u64,
    pub less: u64,
    /// Where one of the short texts may begin; see [`ShortTexts`].
    pub short: u64,
}

/// One kind's masks: of the block before those at hand, of these, and of the one behind, for what goes on
/// across their ends.
pub type Masks = [u64; BLOCKS + 2];

/// The blocks at hand, kind by kind, so that what is worked out for each can be for several in one step.
#[derive(Clone, Debug)]
pub struct Classes {
    pub digit: Masks,
    pub capital: Masks,
    pub token: Masks,
    pub separator: Masks,
    pub pair: Masks,
    pub at: Masks,
    pub lead: Masks,
    pub follows: Masks,
    pub less: Masks,
    pub short: Masks,
}

impl Default for Classes {
    fn default() -> Self {
        let none = [0; BLOCKS + 2];
        Self {
            digit: none,
            capital: none,
            token: none,
            separator: none,
            pair: none,
            at: none,
            lead: none,
            follows: none,
            less: none,
            short: none,
        }
    }
}

impl Classes {
    fn block(&self, nth: usize) -> Block {
        let of = |masks: &Masks| masks.get(nth).copied().unwrap_or_default();
        Block {
            digit: of(&self.digit),
            capital: of(&self.capital),
            token: of(&self.token),
            separator: of(&self.separator),
            pair: of(&self.pair),
            at: of(&self.at),
            lead: of(&self.lead),
            follows: of(&self.follows),
            less: of(&self.less),
            short: of(&self.short),
        }
    }

    #[inline(always)]
    fn set(&mut self, nth: usize, block: Block) {
        let set = |masks: &mut Masks, mask| {
            if let Some(to) = masks.get_mut(nth) {
                *to = mask;
            }
        };
        set(&mut self.digit, block.digit);
        set(&mut self.capital, block.capital);
        set(&mut self.token, block.token);
        set(&mut self.separator, block.separator);
        set(&mut self.pair, block.pair);
        set(&mut self.at, block.at);
        set(&mut self.lead, block.lead);
        set(&mut self.follows, block.follows);
        set(&mut self.less, block.less);
        set(&mut self.short, block.short);
    }
}

const DIGIT: u8 = 1;
const CAPITAL: u8 = 1 << 1;
const TOKEN: u8 = 1 << 2;
const SEPARATOR: u8 = 1 << 3;
const PAIR: u8 = 1 << 4;
const LEAD: u8 = 1 << 5;
const FOLLOWS: u8 = 1 << 6;
/// The highest bit: a mask is made of it in one step.
const LESS: u8 = 1 << 7;

/// The kinds of each byte, but for the one that stands alone; of those outside ASCII none.
static KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        kinds[byte as usize] = kinds_of(byte);
        byte += 1;
    }
    kinds
};

/// Whether a byte is a capital letter or a digit.
#[inline]
pub fn is_capital(byte: u8) -> bool {
    is(byte, CAPITAL)
}

/// Whether a byte is a letter, a digit, a hyphen or an underscore.
#[inline]
pub fn is_token(byte: u8) -> bool {
    is(byte, TOKEN)
}

#[inline]
fn is(byte: u8, kind: u8) -> bool {
    // INVARIANT: there is an entry for each byte.
    KINDS.get(usize::from(byte)).is_some_and(|kinds| kinds & kind != 0)
}

const fn kinds_of(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => DIGIT | CAPITAL | TOKEN | FOLLOWS,
        b'A'..=b'Z' => CAPITAL | TOKEN | FOLLOWS,
        b'a'..=b'z' => TOKEN | FOLLOWS,
        b'_' => TOKEN,
        b'-' => TOKEN | SEPARATOR | PAIR,
        b' ' | b'.' => SEPARATOR,
        b'/' => SEPARATOR | FOLLOWS,
        b':' => PAIR,
        b'&' | b'\\' | b'%' => LEAD,
        b'<' => LESS,
        b'#' | b'"' | b'\'' => FOLLOWS,
        _ => 0,
    }
}

/// An entry for each byte of ASCII.
type AsciiTable = [u8; 128];
/// An entry for each [`six_bits`].
type SixTable = [u8; 64];
/// 16 entries, twice: a register looks them up in either half.
type HalfTable = [u8; 32];

/// Texts of three bytes that are looked for at each place, ignoring case.
///
/// Eight sets at most: each byte of a text sets the bit of its set in the table of its place. If the
/// bits of three bytes in a row share a set, a text may begin.
#[derive(Clone, Debug)]
pub struct ShortTexts {
    /// By the lowest seven bits of a byte.
    bytes: [AsciiTable; 3],
    /// By [`six_bits`], for processors that look up as many entries in one step.
    sixes: [SixTable; 3],
    /// By the low and by the high half of a byte, for processors that look up sixteen entries.
    low: [HalfTable; 3],
    high: [HalfTable; 3],
}

impl Default for ShortTexts {
    fn default() -> Self {
        Self { bytes: [[0; 128]; 3], sixes: [[0; 64]; 3], low: [[0; 32]; 3], high: [[0; 32]; 3] }
    }
}

impl ShortTexts {
    pub fn add(&mut self, text: [u8; 3], set: u8) {
        let bit = 1 << (set % 8);
        for (at, byte) in text.into_iter().enumerate() {
            let byte = byte | 0x20;
            for cased in [byte, byte & !0x20] {
                enter(self.bytes.get_mut(at), cased & 0x7F, bit);
                enter(self.sixes.get_mut(at), six_bits(cased), bit);
            }
            for (tables, half) in [(&mut self.low, byte & 15), (&mut self.high, byte >> 4)] {
                for half in [half, half + 16] {
                    enter(tables.get_mut(at), half, bit);
                }
            }
        }
    }

    /// Whether a text may be these bytes; those outside ASCII count as what they are without their highest bit.
    #[inline]
    pub fn at(&self, bytes: [u8; 3]) -> bool {
        let entry = |(byte, table): (u8, &AsciiTable)| table.get(usize::from(byte & 0x7F)).copied();
        let sets = bytes.into_iter().zip(&self.bytes).filter_map(entry);
        sets.fold(u8::MAX, |all, sets| all & sets) != 0
    }
}

/// The lowest five bits of a byte and its seventh: letters are told from all else, but not capitals from small ones,
/// nor punctuation from control characters.
const fn six_bits(byte: u8) -> u8 {
    byte & 0x1F | byte >> 1 & 0x20
}

fn enter<const ENTRIES: usize>(table: Option<&mut [u8; ENTRIES]>, at: u8, bit: u8) {
    if let Some(entry) = table.and_then(|table| table.get_mut(usize::from(at))) {
        *entry |= bit;
    }
}

/// The blocks of `body` from byte `start` on, a multiple of [`BLOCK_BYTES`], behind those that were there
/// before; what stands behind the body counts as zero bytes. `whole_blocks` classifies as many blocks as it
/// gets windows, from one on: [`portable_blocks`], or what a processor does faster.
#[inline(always)]
pub fn classify(
    body: &[u8],
    start: usize,
    texts: &ShortTexts,
    classes: &mut Classes,
    whole_blocks: impl Fn(&[u8], &ShortTexts, Range<usize>, &mut Classes),
) {
    let before = if start > 0 { classes.block(BLOCKS) } else { Block::default() };
    classes.set(0, before);
    let rest = body.get(start..).unwrap_or(&[]);
    // As many blocks as have a whole window.
    let whole = rest.len().saturating_sub(WINDOW_BYTES - BLOCK_BYTES) / BLOCK_BYTES;
    let whole = whole.min(BLOCKS + 1);
    whole_blocks(rest, texts, 1..whole + 1, classes);
    for nth in whole..=BLOCKS {
        let tail = rest.get(nth * BLOCK_BYTES..).unwrap_or(&[]);
        if tail.is_empty() {
            classes.set(nth + 1, Block::default());
            continue;
        }
        whole_blocks(&padded::<WINDOW_BYTES>(tail), texts, nth + 1..nth + 2, classes);
    }
}

/// As many bytes of a text as there are places, zeros behind its end.
#[inline]
pub fn padded<const BYTES: usize>(text: &[u8]) -> [u8; BYTES] {
    let mut padded = [0; BYTES];
    for (to, from) in padded.iter_mut().zip(text) {
        *to = *from;
    }
    padded
}

/// Blocks with their windows.
#[inline]
fn with_windows(rest: &[u8], blocks: Range<usize>) -> impl Iterator<Item = (usize, &[u8; WINDOW_BYTES])> {
    let windows = rest.windows(WINDOW_BYTES).step_by(BLOCK_BYTES);
    blocks.zip(windows.filter_map(|window| window.first_chunk()))
}

/// Classifies blocks byte by byte.
pub fn portable_blocks(rest: &[u8], texts: &ShortTexts, blocks: Range<usize>, classes: &mut Classes) {
    with_windows(rest, blocks).for_each(|(nth, window)| classes.set(nth, portable::block(window, texts)));
}

mod portable {
    use super::{
        BLOCK_BYTES, Block, CAPITAL, DIGIT, FOLLOWS, LEAD, LESS, PAIR, SEPARATOR, ShortTexts, TOKEN,
        WINDOW_BYTES, is,
    };

    pub fn block(window: &[u8; WINDOW_BYTES], texts: &ShortTexts) -> Block {
        let mut block = Block::default();
        let triples = window.windows(3);
        for (at, (byte, triple)) in window.iter().zip(triples).take(BLOCK_BYTES).enumerate() {
            let set = |mask: &mut u64, is: bool| *mask |= u64::from(is) << at;
            let is = |kind: u8| is(*byte, kind);
            set(&mut block.digit, is(DIGIT));
            set(&mut block.capital, is(CAPITAL));
            set(&mut block.token, is(TOKEN));
            set(&mut block.separator, is(SEPARATOR));
            set(&mut block.pair, is(PAIR));
            set(&mut block.lead, is(LEAD));
            set(&mut block.follows, is(FOLLOWS));
            set(&mut block.at, *byte == b'@');
            set(&mut block.less, is(LESS));
            set(&mut block.short, triple.first_chunk().is_some_and(|bytes| texts.at(*bytes)));
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(unsafe_code, reason = "a function for a feature of the processor is called in no other way")]
    fn all_forms_agree() {
        let mut texts = ShortTexts::default();
        for (set, text) in [*b"cvv", *b"pwd", *b"$6$", *b"<?p"].into_iter().enumerate() {
            texts.add(text, set as u8);
        }
        // Every byte beside every other, at each place of a block, and texts across its end.
        let mut body: Vec<u8> = (0..=255u8).flat_map(|a| [a, a.wrapping_mul(31), a ^ 0x55]).collect();
        for shift in 0..70 {
            body.extend(std::iter::repeat_n(b'.', shift));
            body.extend(b"CvV=1 pwd:x $6$ <?php A1-b2_c3@d4 &amp; \\u0040 %40 <b>");
        }
        for cut in 0..130 {
            let body = &body[..body.len() - cut];
            let plain = blocks_with(body, &texts, portable_blocks);
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx512vbmi") {
                // SAFETY: the feature was seen in the line above; it comes with the others.
                let blocks = blocks_with(body, &texts, |rest, texts, blocks, classes| unsafe {
                    avx512::blocks(rest, texts, blocks, classes);
                });
                assert_same_but_more_short(&blocks, &plain, cut);
            }
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the feature was seen in the line above.
                let blocks = blocks_with(body, &texts, |rest, texts, blocks, classes| unsafe {
                    avx2::blocks(rest, texts, blocks, classes);
                });
                assert_same_but_more_short(&blocks, &plain, cut);
            }
        }
    }

    fn assert_same_but_more_short(blocks: &[Block], plain: &[Block], cut: usize) {
        for (block, plain) in blocks.iter().zip(plain) {
            assert_eq!(Block { short: plain.short, ..*block }, *plain, "{cut}");
            assert_eq!(block.short & plain.short, plain.short, "{cut}");
        }
    }

    fn blocks_with(
        body: &[u8],
        texts: &ShortTexts,
        whole_blocks: impl Fn(&[u8], &ShortTexts, Range<usize>, &mut Classes),
    ) -> Vec<Block> {
        let mut classes = Classes::default();
        classify(body, 0, texts, &mut classes, whole_blocks);
        (1..BLOCKS + 2).map(|nth| classes.block(nth)).collect()
    }

    #[test]
    fn short_texts_are_seen_in_either_case() {
        let mut texts = ShortTexts::default();
        texts.add(*b"cvv", 0);
        texts.add(*b"$6$", 1);
        let body = b"a CVV and a cvv, $6$ and a cv";
        let (places, sure) = (1 << 2 | 1 << 12 | 1 << 17, blocks_with(body, &texts, portable_blocks));
        assert_eq!(sure.first().unwrap().short, places);
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the feature was seen in the line above.
            #[expect(
                unsafe_code,
                reason = "a function for a feature of the processor is called in no other way"
            )]
            let likely = blocks_with(body, &texts, |rest, texts, blocks, classes| unsafe {
                avx2::blocks(rest, texts, blocks, classes);
            });
            assert_eq!(likely.first().unwrap().short & places, places);
        }
    }
}
