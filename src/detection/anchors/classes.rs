//! Which kinds of byte stand where in a body: one bit for each byte, 64 bytes a block.
//!
//! With AVX2 a block takes some forty cycles; without, it is done byte by byte.

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 64;
/// What is read for one block: its bytes, and two more for texts that begin at its end.
pub const WINDOW_BYTES: usize = BLOCK_BYTES + 2;

/// The bytes of one block by kind; the lowest bit stands for the first byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    pub digit: u64,
    pub upper: u64,
    /// Of either case.
    pub letter: u64,
    /// Space, hyphen, point or slash: what groups of a number stand apart by.
    pub separator: u64,
    pub hyphen: u64,
    pub underscore: u64,
    pub at: u64,
    pub colon: u64,
    /// `&`, `\` or `%`: where a character reference or an escape may begin.
    pub lead: u64,
    /// `#`, `/` and quotes: what may stand behind one of these, letters and digits apart.
    pub mark: u64,
    pub less: u64,
    /// Where one of the short texts may begin; see [`ShortTexts`].
    pub short: u64,
}

/// Texts of three bytes that are looked for at each place, whatever their case.
///
/// Eight sets at most: each byte of a text sets the bit of its set in two tables of 16 entries, by its
/// low and by its high half. Where the bits of three bytes in a row share a set, a text may begin.
#[derive(Clone, Debug, Default)]
pub struct ShortTexts {
    low: [Table; 3],
    high: [Table; 3],
}

/// 16 entries, twice: a register looks them up in either half.
type Table = [u8; 32];

impl ShortTexts {
    pub fn add(&mut self, text: [u8; 3], set: u8) {
        for (at, byte) in text.into_iter().enumerate() {
            let byte = byte | 0x20;
            for (tables, half) in [(&mut self.low, byte & 15), (&mut self.high, byte >> 4)] {
                for half in [half, half + 16] {
                    if let Some(entry) = tables.get_mut(at).and_then(|table| table.get_mut(usize::from(half)))
                    {
                        *entry |= 1 << (set % 8);
                    }
                }
            }
        }
    }

    fn at(&self, bytes: [u8; 3]) -> bool {
        let mut sets = u8::MAX;
        for (byte, (low, high)) in bytes.into_iter().zip(self.low.iter().zip(&self.high)) {
            let byte = byte | 0x20;
            let entry = |table: &Table, half: u8| table.get(usize::from(half)).copied().unwrap_or(0);
            sets &= entry(low, byte & 15) & entry(high, byte >> 4);
        }
        sets != 0
    }
}

/// Adds the blocks of `body` from byte `start` on, at most `count` of them; what stands behind the body
/// counts as zero bytes. `start` is a multiple of [`BLOCK_BYTES`]. `whole_blocks` classifies as many
/// blocks as it is told: [`portable_blocks`], or what a processor does faster.
#[inline(always)]
pub fn classify(
    body: &[u8],
    start: usize,
    count: usize,
    texts: &ShortTexts,
    blocks: &mut Vec<Block>,
    whole_blocks: impl Fn(&[u8], usize, &ShortTexts, &mut Vec<Block>),
) {
    let rest = body.get(start..).unwrap_or(&[]);
    let count = count.min(rest.len().div_ceil(BLOCK_BYTES));
    // As many blocks as have a whole window.
    let whole = (rest.len().saturating_sub(WINDOW_BYTES - BLOCK_BYTES) / BLOCK_BYTES).min(count);
    whole_blocks(rest, whole, texts, blocks);
    for block in whole..count {
        let mut window = [0; WINDOW_BYTES];
        let tail = rest.get(block * BLOCK_BYTES..).unwrap_or(&[]);
        for (to, from) in window.iter_mut().zip(tail) {
            *to = *from;
        }
        whole_blocks(&window, 1, texts, blocks);
    }
}

/// The windows of `count` blocks.
#[inline]
fn windows(rest: &[u8], count: usize) -> impl Iterator<Item = &[u8; WINDOW_BYTES]> {
    (0..count).filter_map(|block| rest.get(block * BLOCK_BYTES..)?.first_chunk())
}

/// Classifies `count` blocks byte by byte.
pub fn portable_blocks(rest: &[u8], count: usize, texts: &ShortTexts, blocks: &mut Vec<Block>) {
    blocks.extend(windows(rest, count).map(|window| portable::block(window, texts)));
}

mod portable {
    use super::{BLOCK_BYTES, Block, ShortTexts, WINDOW_BYTES};

    pub fn block(window: &[u8; WINDOW_BYTES], texts: &ShortTexts) -> Block {
        let mut block = Block::default();
        let triples = window.windows(3);
        for (at, (byte, triple)) in window.iter().zip(triples).take(BLOCK_BYTES).enumerate() {
            let set = |mask: &mut u64, is: bool| *mask |= u64::from(is) << at;
            set(&mut block.digit, byte.is_ascii_digit());
            set(&mut block.upper, byte.is_ascii_uppercase());
            set(&mut block.letter, byte.is_ascii_alphabetic());
            set(&mut block.separator, matches!(byte, b' ' | b'-' | b'.' | b'/'));
            set(&mut block.hyphen, *byte == b'-');
            set(&mut block.underscore, *byte == b'_');
            set(&mut block.at, *byte == b'@');
            set(&mut block.colon, *byte == b':');
            set(&mut block.lead, matches!(byte, b'&' | b'\\' | b'%'));
            set(&mut block.mark, matches!(byte, b'#' | b'/' | b'"' | b'\''));
            set(&mut block.less, *byte == b'<');
            set(&mut block.short, triple.first_chunk().is_some_and(|bytes| texts.at(*bytes)));
        }
        block
    }
}

/// Classifies with AVX2.
#[cfg(target_arch = "x86_64")]
pub mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi8, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8,
        _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8,
        _mm256_slli_epi16, _mm256_srli_epi16,
    };

    use super::{Block, ShortTexts, Table, WINDOW_BYTES, windows};

    struct Tables {
        low: [__m256i; 3],
        high: [__m256i; 3],
    }

    /// # Safety
    /// The processor has AVX2.
    #[target_feature(enable = "avx2")]
    pub fn blocks(rest: &[u8], count: usize, texts: &ShortTexts, blocks: &mut Vec<Block>) {
        let tables = Tables {
            low: [read(&texts.low[0]), read(&texts.low[1]), read(&texts.low[2])],
            high: [read(&texts.high[0]), read(&texts.high[1]), read(&texts.high[2])],
        };
        blocks.reserve(count);
        for window in windows(rest, count) {
            blocks.push(join(half::<0>(window, &tables), half::<32>(window, &tables)));
        }
    }

    #[inline]
    fn join(first: Block, second: Block) -> Block {
        Block {
            digit: first.digit | second.digit << 32,
            upper: first.upper | second.upper << 32,
            letter: first.letter | second.letter << 32,
            separator: first.separator | second.separator << 32,
            hyphen: first.hyphen | second.hyphen << 32,
            underscore: first.underscore | second.underscore << 32,
            at: first.at | second.at << 32,
            colon: first.colon | second.colon << 32,
            lead: first.lead | second.lead << 32,
            mark: first.mark | second.mark << 32,
            less: first.less | second.less << 32,
            short: first.short | second.short << 32,
        }
    }

    /// Sets of punctuation by the halves of a byte: 1 the separators, 2 the marks, 4 and 8 the leads.
    const PUNCTUATION_LOW: Table = doubled([1, 0, 2, 2, 0, 4, 4, 2, 0, 0, 0, 0, 8, 1, 1, 3]);
    const PUNCTUATION_HIGH: Table = doubled([0, 0, 7, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

    const fn doubled(table: [u8; 16]) -> Table {
        let mut twice = [0; 32];
        let mut at = 0;
        while at < 32 {
            twice[at] = table[at % 16];
            at += 1;
        }
        twice
    }

    /// 32 bytes from `AT` on.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn half<const AT: usize>(window: &[u8; WINDOW_BYTES], tables: &Tables) -> Block {
        let bytes = load::<AT>(window);
        let is = |byte: u8| equal(bytes, byte);
        // Each of these has its bit in both tables: sets of bytes that share a half are looked up, for
        // comparisons joined by "or" are taken apart byte by byte by the compiler.
        let sets = sets(bytes, read(&PUNCTUATION_LOW), read(&PUNCTUATION_HIGH));
        let letter = bits(in_range(folded(bytes), b'a', 26));
        // Bit 5 of a byte, moved to the place that the mask is taken from: set in small letters.
        let bit_5 = bits(_mm256_slli_epi16::<2>(bytes));
        Block {
            digit: bits(in_range(bytes, b'0', 10)),
            upper: letter & !bit_5,
            letter,
            separator: bits(_mm256_slli_epi16::<7>(sets)),
            hyphen: bits(is(b'-')),
            underscore: bits(is(b'_')),
            at: bits(is(b'@')),
            colon: bits(is(b':')),
            lead: bits(_mm256_slli_epi16::<5>(sets)) | bits(_mm256_slli_epi16::<4>(sets)),
            mark: bits(_mm256_slli_epi16::<6>(sets)),
            less: bits(is(b'<')),
            short: short(window, AT, bytes, tables),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn short(window: &[u8; WINDOW_BYTES], at: usize, bytes: __m256i, tables: &Tables) -> u64 {
        let (second, third) = if at == 0 {
            (load::<1>(window), load::<2>(window))
        } else {
            (load::<33>(window), load::<34>(window))
        };
        let first = sets(folded(bytes), tables.low[0], tables.high[0]);
        let second = sets(folded(second), tables.low[1], tables.high[1]);
        let third = sets(folded(third), tables.low[2], tables.high[2]);
        let shared = _mm256_and_si256(_mm256_and_si256(first, second), third);
        u64::from(u32::MAX) & !bits(_mm256_cmpeq_epi8(shared, _mm256_setzero_si256()))
    }

    /// The sets that each byte belongs to.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn sets(bytes: __m256i, low: __m256i, high: __m256i) -> __m256i {
        let low_half = _mm256_and_si256(bytes, all(15));
        let high_half = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), all(15));
        _mm256_and_si256(_mm256_shuffle_epi8(low, low_half), _mm256_shuffle_epi8(high, high_half))
    }

    /// 32 bytes of a window from `AT` on.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn load<const AT: usize>(window: &[u8; WINDOW_BYTES]) -> __m256i {
        const { assert!(AT + 32 <= WINDOW_BYTES) };
        // INVARIANT: they lie in the window, as the line above has shown.
        match window.get(AT..).and_then(|rest| rest.first_chunk()) {
            Some(bytes) => read(bytes),
            None => _mm256_setzero_si256(),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn read(bytes: &[u8; 32]) -> __m256i {
        // SAFETY: the load takes 32 bytes, which is what there are, and asks for no alignment.
        #[expect(unsafe_code, reason = "a register is loaded from bytes in no other way that stays one load")]
        unsafe {
            _mm256_loadu_si256(bytes.as_ptr().cast())
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn all(byte: u8) -> __m256i {
        _mm256_set1_epi8(byte.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn equal(bytes: __m256i, byte: u8) -> __m256i {
        _mm256_cmpeq_epi8(bytes, all(byte))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn folded(bytes: __m256i) -> __m256i {
        _mm256_or_si256(bytes, all(0x20))
    }

    /// Bytes from `first` on, `count` of them.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn in_range(bytes: __m256i, first: u8, count: u8) -> __m256i {
        let from_zero = _mm256_add_epi8(bytes, all(first.wrapping_neg()));
        _mm256_cmpeq_epi8(_mm256_min_epu8(from_zero, all(count - 1)), from_zero)
    }

    /// The highest bit of each byte.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn bits(bytes: __m256i) -> u64 {
        u64::from(_mm256_movemask_epi8(bytes).cast_unsigned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_portable_form() {
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
            let (mut fast, mut plain) = (Vec::new(), Vec::new());
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the feature was seen in the line above.
                #[expect(
                    unsafe_code,
                    reason = "a function for a feature of the processor is called in no other way"
                )]
                classify(body, 0, usize::MAX, &texts, &mut fast, |rest, count, texts, blocks| unsafe {
                    avx2::blocks(rest, count, texts, blocks);
                });
            }
            let mut padded = body.to_vec();
            padded.resize(body.len().div_ceil(BLOCK_BYTES) * BLOCK_BYTES + 2, 0);
            portable_blocks(&padded, body.len().div_ceil(BLOCK_BYTES), &texts, &mut plain);
            assert!(fast.is_empty() || fast == plain, "{cut}");
        }
    }

    #[test]
    fn short_texts_are_seen_in_either_case() {
        let mut texts = ShortTexts::default();
        texts.add(*b"cvv", 0);
        let mut blocks = Vec::new();
        classify(b"a CVV and a cvv", 0, usize::MAX, &texts, &mut blocks, portable_blocks);
        assert_eq!(blocks.first().unwrap().short, 1 << 2 | 1 << 12);
    }
}
