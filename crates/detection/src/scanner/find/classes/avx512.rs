//! Classes and grams with AVX-512: a block a register, and tables of 64 and 128 bytes looked up in one step (VBMI).

use std::arch::x86_64::{
    __m512i, _mm512_and_si512, _mm512_cmpeq_epi8_mask, _mm512_i32gather_epi32, _mm512_loadu_si512,
    _mm512_maskz_permutex2var_epi8, _mm512_movepi8_mask, _mm512_mullo_epi32, _mm512_or_si512,
    _mm512_permutexvar_epi8, _mm512_rorv_epi32, _mm512_set1_epi8, _mm512_set1_epi32, _mm512_setzero_si512,
    _mm512_srli_epi16, _mm512_srli_epi32, _mm512_ternarylogic_epi64, _mm512_test_epi8_mask,
    _mm512_test_epi32_mask,
};
use std::ops::Range;

use super::super::grams::{CASE, GramMap, MAP_BITS, WORD_BITS};
use super::super::index::MIX;
use super::{
    BLOCK_BYTES, Block, CAPITAL, Classes, DIGIT, FOLLOWS, KINDS, LEAD, PAIR, SEPARATOR, ShortTexts, TOKEN,
    WINDOW_BYTES, with_windows,
};

/// Of three bits the second if the first is set, else the third.
const SELECT: i32 = 0b1100_1010;

/// A table of 128 entries in two registers.
#[derive(Clone, Copy)]
struct Table([__m512i; 2]);

/// # Safety
/// The processor has AVX-512 BW and VBMI.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub fn blocks(rest: &[u8], texts: &ShortTexts, blocks: Range<usize>, classes: &mut Classes) {
    let kinds = table(&KINDS);
    let texts = [read(&texts.sixes[0]), read(&texts.sixes[1]), read(&texts.sixes[2])];
    for (nth, window) in with_windows(rest, blocks) {
        classes.set(nth, block(window, kinds, texts));
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn block(window: &[u8; WINDOW_BYTES], kinds: Table, texts: [__m512i; 3]) -> Block {
    let bytes = load::<0>(window);
    let ascii = !_mm512_movepi8_mask(bytes);
    let kinds = _mm512_maskz_permutex2var_epi8(ascii, kinds.0[0], bytes, kinds.0[1]);
    let of = |kind: u8| _mm512_test_epi8_mask(kinds, all(kind));
    // The step that looks up takes the lowest six bits: the seventh is moved down beside the lowest five.
    let six_bits =
        |bytes| _mm512_ternarylogic_epi64::<SELECT>(all(0x1F), bytes, _mm512_srli_epi16::<1>(bytes));
    let sets = |bytes, table| _mm512_permutexvar_epi8(six_bits(bytes), table);
    let two = _mm512_and_si512(sets(bytes, texts[0]), sets(load::<1>(window), texts[1]));
    Block {
        digit: of(DIGIT),
        capital: of(CAPITAL),
        token: of(TOKEN),
        separator: of(SEPARATOR),
        pair: of(PAIR),
        at: _mm512_cmpeq_epi8_mask(bytes, all(b'@')),
        lead: of(LEAD),
        follows: of(FOLLOWS),
        less: _mm512_movepi8_mask(kinds),
        short: _mm512_test_epi8_mask(two, sets(load::<2>(window), texts[2])),
    }
}

/// Of the sixteen grams of a block those that have their bit in a map, the first in the lowest bit.
///
/// # Safety
/// The processor has AVX-512.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn grams(map: &GramMap, block: &[u8; BLOCK_BYTES]) -> u64 {
    let folded = _mm512_or_si512(read(block), _mm512_set1_epi32(CASE.cast_signed()));
    let hashes = _mm512_mullo_epi32(folded, _mm512_set1_epi32(MIX.cast_signed()));
    let bits = _mm512_srli_epi32::<{ u32::BITS - MAP_BITS }>(hashes);
    let places = _mm512_srli_epi32::<WORD_BITS>(bits);
    // SAFETY: of a hash the highest `MAP_BITS` bits are kept, less the `WORD_BITS` lowest of them: each place is
    // one of the words, of which there are 2^(MAP_BITS - WORD_BITS), of four bytes each.
    #[expect(unsafe_code, reason = "several words are read in one step in no other way")]
    let words = unsafe { _mm512_i32gather_epi32::<4>(places, map.grams.as_ptr().cast()) };
    // It turns by the lowest five bits.
    let turned = _mm512_rorv_epi32(words, bits);
    u64::from(_mm512_test_epi32_mask(turned, _mm512_set1_epi32(1)))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn table(entries: &[u8]) -> Table {
    let (halves, _) = entries.as_chunks();
    // INVARIANT: there are twice as many entries, the others for bytes outside ASCII.
    match halves {
        [low, high, ..] => Table([read(low), read(high)]),
        _ => Table([_mm512_setzero_si512(); 2]),
    }
}

/// 64 bytes of a window from `AT` on.
#[inline]
#[target_feature(enable = "avx512f")]
fn load<const AT: usize>(window: &[u8; WINDOW_BYTES]) -> __m512i {
    const { assert!(AT + 64 <= WINDOW_BYTES) };
    // INVARIANT: they lie in the window, as the line above has shown.
    match window.get(AT..).and_then(|rest| rest.first_chunk()) {
        Some(bytes) => read(bytes),
        None => _mm512_setzero_si512(),
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn read(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: the load takes 64 bytes, which is what there are, and asks for no alignment.
    #[expect(unsafe_code, reason = "a register is loaded from bytes in no other way that stays one load")]
    unsafe {
        _mm512_loadu_si512(bytes.as_ptr().cast())
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn all(byte: u8) -> __m512i {
    _mm512_set1_epi8(byte.cast_signed())
}
