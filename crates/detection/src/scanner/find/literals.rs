//! Texts that a rule begins at, found in one pass whatever their number and case.
//!
//! Of a text of seven bytes and more, the four grams of four bytes in its rarest window of seven are
//! entered in a bit map: every fourth byte of a body begins a gram, so one of the four is met. Shorter
//! texts are looked for at each place ([`ShortTexts`]). What is met is compared as a whole.

use super::byte_pairs;
use super::classes::{BLOCK_BYTES, ShortTexts, padded};
use super::grams::{GRAM_BYTES, GramMap, WIDE_CASE, folded};
use super::index::{Index, key_of_3};
use crate::rule::MIN_LITERAL_BYTES;

/// A text of this length holds a whole gram of a body wherever it stands.
const WINDOW_BYTES: usize = 2 * GRAM_BYTES - 1;
const GRAMS_OF_BLOCK: usize = BLOCK_BYTES / GRAM_BYTES;
/// Blocks of which the grams have one mask.
const BLOCKS_OF_MASK: usize = 64 / GRAMS_OF_BLOCK;

/// A text and the rule that begins at it.
#[derive(Clone, Debug)]
pub struct Literal {
    text: Box<[u8]>,
    pub rule: usize,
    /// Whether all its bytes are the same.
    is_run: bool,
}

impl Literal {
    pub fn new(text: &str, rule: usize) -> Self {
        let text: Box<[u8]> = text.as_bytes().into();
        let is_run = text.iter().all(|byte| Some(byte) == text.first());
        Self { text, rule, is_run }
    }
}

/// Where a text may stand, by a part of it.
#[derive(Clone, Copy, Debug)]
struct Part {
    literal: u32,
    /// Where the part begins in the text.
    offset: u32,
    /// Where in the text the bytes stand that are compared first.
    first: u32,
    /// Eight bytes of the text round the part, or as many as it has, their case folded.
    bytes: u64,
    /// Those of the eight that there are.
    mask: u64,
}

/// The places of a mask of grams.
#[inline(always)]
fn push(places: &mut Vec<usize>, at: usize, mut mask: u64) {
    while mask != 0 {
        places.push(at + mask.trailing_zeros() as usize * GRAM_BYTES);
        mask &= mask - 1;
    }
}

/// Leaves those places where something holds. PERF: benches/detection.rs. Without a branch for each, which would be guessed wrong too often.
#[inline(always)]
fn keep(places: &mut Vec<usize>, holds: impl Fn(usize) -> bool) {
    let mut kept = 0;
    for nth in 0..places.len() {
        let place = places.get(nth).copied().unwrap_or_default();
        if let Some(to) = places.get_mut(kept) {
            *to = place;
        }
        kept += usize::from(holds(place));
    }
    places.truncate(kept);
}

impl Part {
    fn new(literal: u32, text: &[u8], offset: usize) -> Self {
        let first = offset.saturating_sub(2).min(text.len().saturating_sub(8));
        let eight = text.iter().skip(first).take(8).enumerate();
        let (bytes, mask) = eight.fold((0, 0), |(bytes, mask), (nth, byte)| {
            (bytes | u64::from(byte | 0x20) << (8 * nth), mask | 0xFF << (8 * nth))
        });
        let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self { literal, offset: small(offset), first: small(first), bytes, mask }
    }

    /// Whether the text may stand at `start`; if fewer than eight bytes are left it always may.
    #[inline]
    fn may_stand(&self, body: &[u8], start: usize) -> bool {
        let eight = body.get(start + self.first as usize..).and_then(|rest| rest.first_chunk());
        eight.is_none_or(|eight| (u64::from_le_bytes(*eight) | WIDE_CASE) & self.mask == self.bytes)
    }
}

/// All texts, ready to search.
#[derive(Debug, Default)]
pub struct Literals {
    literals: Vec<Literal>,
    map: GramMap,
    grams: Index<Part>,
    short: Index<Part>,
    pub short_texts: ShortTexts,
}

impl Literals {
    pub fn new(literals: Vec<Literal>) -> Self {
        let mut all = Self::default();
        let mut sets = [Bytes::default(); SETS];
        let (mut grams, mut short) = (Vec::new(), Vec::new());
        for (index, literal) in literals.iter().enumerate() {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            if literal.text.len() >= WINDOW_BYTES {
                all.enter(index, &literal.text, &mut grams);
            } else if let Some((offset, text)) = rarest(&literal.text, MIN_LITERAL_BYTES) {
                let Some(text) = text.first_chunk::<3>().map(|text| text.map(|byte| byte | 0x20)) else {
                    continue;
                };
                // The set that grows least by it: what a set takes for its texts is every mixture of them.
                let growth = |set: &Bytes| set.with(text).commonness() - set.commonness();
                let grown = sets.iter().map(growth).enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b));
                let nth = grown.map_or(0, |(nth, _)| nth);
                if let Some(set) = sets.get_mut(nth) {
                    *set = set.with(text);
                }
                all.short_texts.add(text, u8::try_from(nth).unwrap_or(0));
                short.push((key_of_3(text), Part::new(index, &literal.text, offset)));
            }
        }
        all.grams = Index::new(grams);
        all.short = Index::new(short);
        all.literals = literals;
        all
    }

    fn enter(&mut self, literal: u32, text: &[u8], grams: &mut Vec<(u32, Part)>) {
        let Some((start, _)) = rarest(text, WINDOW_BYTES) else { return };
        for offset in start..start + GRAM_BYTES {
            if let Some(gram) = self.map.add(text, offset) {
                grams.push((gram, Part::new(literal, text, offset)));
            }
        }
    }

    /// Places in `body[start..end]` where a gram of a text may stand; `start` is a multiple of
    /// [`GRAM_BYTES`]. `of_block` is [`GramMap::of_block`], or what a processor does faster.
    #[inline(always)]
    pub fn grams(
        &self,
        body: &[u8],
        start: usize,
        end: usize,
        places: &mut Vec<usize>,
        of_block: impl Fn(&GramMap, &[u8; BLOCK_BYTES]) -> u64,
    ) {
        let chunk = body.get(start..end.min(body.len())).unwrap_or(&[]);
        let (blocks, rest) = chunk.as_chunks::<BLOCK_BYTES>();
        let (fours, others) = blocks.as_chunks::<BLOCKS_OF_MASK>();
        let mut at = start;
        // PERF: benches/detection.rs. Places are taken from masks: a branch for each gram would be guessed wrong too often.
        for four in fours {
            let mask =
                four.iter().rev().fold(0, |mask, block| mask << GRAMS_OF_BLOCK | of_block(&self.map, block));
            push(places, at, mask);
            at += BLOCKS_OF_MASK * BLOCK_BYTES;
        }
        for block in others {
            push(places, at, of_block(&self.map, block));
            at += BLOCK_BYTES;
        }
        let there = !(u64::MAX << (rest.len() / GRAM_BYTES));
        push(places, at, of_block(&self.map, &padded(rest)) & there);
        keep(places, |place| self.map.may_stand(body, place));
    }

    /// Leaves of places where a short text may begin those where the bytes are of one.
    #[inline(always)]
    pub fn keep_shorts(&self, body: &[u8], places: &mut Vec<usize>) {
        let three = |place: usize| body.get(place..).and_then(|rest| rest.first_chunk());
        keep(places, |place| three(place).is_some_and(|three| self.short_texts.at(*three)));
    }

    /// The texts of which a gram stands at `place`.
    #[inline]
    pub fn at_gram<'l>(&'l self, body: &'l [u8], place: usize) -> impl Iterator<Item = (usize, &'l Literal)> {
        let gram = body.get(place..).and_then(|rest| rest.first_chunk()).map_or(0, |gram| folded(*gram));
        self.grams.get(gram).filter_map(move |part| self.whole(body, place, *part))
    }

    /// The texts of which the rarest three bytes stand at `place`.
    #[inline]
    pub fn at_short<'l>(
        &'l self,
        body: &'l [u8],
        place: usize,
    ) -> impl Iterator<Item = (usize, &'l Literal)> {
        let text = body.get(place..).and_then(|rest| rest.first_chunk::<3>());
        let key = text.map_or(0, |text| key_of_3(text.map(|byte| byte | 0x20)));
        self.short.get(key).filter_map(move |part| self.whole(body, place, *part))
    }

    #[inline]
    fn whole(&self, body: &[u8], place: usize, part: Part) -> Option<(usize, &Literal)> {
        let literal = self.literals.get(part.literal as usize)?;
        let start = place.checked_sub(part.offset as usize).filter(|start| part.may_stand(body, *start))?;
        let found = body.get(start..start + literal.text.len())?;
        // Of a text that is one byte over and over, the first of a longer run.
        let goes_on = || literal.is_run && start > 0 && body.get(start - 1) == literal.text.first();
        (found.eq_ignore_ascii_case(&literal.text) && !goes_on()).then_some((start, literal))
    }
}

/// Sets of short texts.
const SETS: usize = 8;

/// The bytes that a set takes at each of three places, as bits by their lowest seven.
#[derive(Clone, Copy, Default)]
struct Bytes([u128; MIN_LITERAL_BYTES]);

impl Bytes {
    fn with(mut self, text: [u8; MIN_LITERAL_BYTES]) -> Self {
        for (bytes, byte) in self.0.iter_mut().zip(text) {
            *bytes |= 1 << (byte & 0x7F);
        }
        self
    }

    /// How often bodies hold what it takes.
    fn commonness(self) -> f64 {
        let share = |bytes: u128| {
            let taken = (0..0x80).filter(|byte| bytes >> byte & 1 != 0);
            taken.map(byte_pairs::share).sum::<f64>()
        };
        self.0.into_iter().map(share).product()
    }
}

/// The window of `length` bytes of which bodies hold the grams least often, and where it begins.
fn rarest(text: &[u8], length: usize) -> Option<(usize, &[u8])> {
    let cost =
        |window: &[u8]| window.windows(GRAM_BYTES.min(length)).map(byte_pairs::share_of_text).sum::<f64>();
    text.windows(length).enumerate().min_by(|(_, a), (_, b)| cost(a).total_cmp(&cost(b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::find::Pass;

    #[test]
    fn a_text_is_found_wherever_it_stands() {
        let texts = ["Traceback (most", "pass.rd", "cvv", "$argon2", "######", "========"];
        let literals = texts.iter().enumerate().map(|(rule, text)| Literal::new(text, rule));
        let literals = Literals::new(literals.collect());
        let mut ran = 0;
        for (rule, text) in texts.iter().enumerate() {
            for shift in 0..150 {
                let mut body = vec![b'.'; shift];
                body.extend(text.to_ascii_uppercase().bytes());
                let mut pass = Pass::default();
                pass.chunk(&body, 0, &literals);
                let grams = pass.found.grams.iter().flat_map(|place| literals.at_gram(&body, *place));
                let shorts = pass.found.shorts.iter().flat_map(|place| literals.at_short(&body, *place));
                let found: Vec<_> = grams.chain(shorts).map(|(at, literal)| (at, literal.rule)).collect();
                assert_eq!(found, [(shift, rule)], "{text:?} at {shift}");
                ran += 1;
            }
        }
        assert_eq!(ran, 900);
    }
}
