//! Classes with AVX2: 32 bytes a register.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi8, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8,
    _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_slli_epi16, _mm256_srli_epi16,
};
use std::ops::Range;

use super::{Block, Classes, HalfTable, ShortTexts, WINDOW_BYTES, with_windows};

struct Tables {
    low: [__m256i; 3],
    high: [__m256i; 3],
}

/// # Safety
/// The processor has AVX2.
#[target_feature(enable = "avx2")]
pub fn blocks(rest: &[u8], texts: &ShortTexts, blocks: Range<usize>, classes: &mut Classes) {
    let tables = Tables {
        low: [read(&texts.low[0]), read(&texts.low[1]), read(&texts.low[2])],
        high: [read(&texts.high[0]), read(&texts.high[1]), read(&texts.high[2])],
    };
    for (nth, window) in with_windows(rest, blocks) {
        classes.set(nth, join(half::<0>(window, &tables), half::<32>(window, &tables)));
    }
}

#[inline]
fn join(first: Block, second: Block) -> Block {
    Block {
        digit: first.digit | second.digit << 32,
        capital: first.capital | second.capital << 32,
        token: first.token | second.token << 32,
        separator: first.separator | second.separator << 32,
        pair: first.pair | second.pair << 32,
        at: first.at | second.at << 32,
        lead: first.lead | second.lead << 32,
        follows: first.follows | second.follows << 32,
        less: first.less | second.less << 32,
        short: first.short | second.short << 32,
    }
}

/// Sets of punctuation by the halves of a byte: 1 the separators, 2 the marks, 4 and 8 the leads.
const PUNCTUATION_LOW: HalfTable = doubled([1, 0, 2, 2, 0, 4, 4, 2, 0, 0, 0, 0, 8, 1, 1, 3]);
const PUNCTUATION_HIGH: HalfTable = doubled([0, 0, 7, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

const fn doubled(table: [u8; 16]) -> HalfTable {
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
    let digit = bits(in_range(bytes, b'0', 10));
    let hyphen = bits(is(b'-'));
    Block {
        digit,
        capital: letter & !bit_5 | digit,
        token: letter | digit | hyphen | bits(is(b'_')),
        separator: bits(_mm256_slli_epi16::<7>(sets)),
        pair: hyphen | bits(is(b':')),
        at: bits(is(b'@')),
        lead: bits(_mm256_slli_epi16::<5>(sets)) | bits(_mm256_slli_epi16::<4>(sets)),
        follows: letter | digit | bits(_mm256_slli_epi16::<6>(sets)),
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
