//! Texts that a rule begins at, found in one pass whatever their number and case.
//!
//! Of a text of seven bytes and more, the four grams of four bytes in its rarest window of seven are
//! entered in a bit map: every fourth byte of a body begins a gram, so one of the four is met. Shorter
//! texts are looked for at each place ([`ShortTexts`]). What is met is compared as a whole.

use super::classes::ShortTexts;
use super::index::{Index, key_of_3, slot};

/// Bytes of a gram, and how far grams lie apart in a body.
pub const GRAM_BYTES: usize = 4;
/// A text of this length holds a whole gram of a body wherever it stands.
const WINDOW_BYTES: usize = 2 * GRAM_BYTES - 1;
/// Shortest text.
pub const MIN_LITERAL_BYTES: usize = 3;
const MAP_BITS: u32 = 16;

/// A text and the rule that begins at it.
#[derive(Clone, Debug)]
pub struct Literal {
    pub text: Box<[u8]>,
    pub rule: usize,
}

/// Where a text may stand, by a part of it.
#[derive(Clone, Copy, Debug)]
struct Part {
    literal: u32,
    /// Where the part begins in the text.
    offset: u32,
}

/// All texts, ready to search.
#[derive(Debug, Default)]
pub struct Literals {
    literals: Vec<Literal>,
    map: Vec<u64>,
    grams: Index<Part>,
    short: Index<Part>,
    pub short_texts: ShortTexts,
}

impl Literals {
    pub fn new(literals: Vec<Literal>) -> Self {
        let mut all = Self { map: vec![0; 1 << (MAP_BITS - 6)], ..Self::default() };
        let mut sets = [Halves::default(); SETS];
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
                let nth = (0..SETS)
                    .min_by_key(|nth| sets.get(*nth).map(|set| set.with(text).breadth() - set.breadth()));
                let nth = nth.unwrap_or(0);
                if let Some(set) = sets.get_mut(nth) {
                    *set = set.with(text);
                }
                all.short_texts.add(text, u8::try_from(nth).unwrap_or(0));
                let offset = u32::try_from(offset).unwrap_or(0);
                short.push((key_of_3(text), Part { literal: index, offset }));
            }
        }
        all.grams = Index::new(grams);
        all.short = Index::new(short);
        all.literals = literals;
        all
    }

    fn enter(&mut self, literal: u32, text: &[u8], grams: &mut Vec<(u32, Part)>) {
        let Some((start, window)) = rarest(text, WINDOW_BYTES) else { return };
        for (offset, gram) in window.windows(GRAM_BYTES).enumerate() {
            let Some(gram) = gram.first_chunk().map(|gram| folded(*gram)) else { continue };
            let bit = hash(gram);
            if let Some(word) = self.map.get_mut(bit / 64) {
                *word |= 1 << (bit % 64);
            }
            let offset = u32::try_from(start + offset).unwrap_or(0);
            grams.push((gram, Part { literal, offset }));
        }
    }

    /// Places in `body[start..end]` where a gram of a text stands; `start` is a multiple of
    /// [`GRAM_BYTES`].
    #[inline(always)]
    pub fn grams(&self, body: &[u8], start: usize, end: usize, places: &mut Vec<usize>) {
        if self.grams.is_empty() {
            return;
        }
        let Some(map) = self.map.first_chunk::<{ 1 << (MAP_BITS - 6) }>() else { return };
        let chunk = body.get(start..end.min(body.len())).unwrap_or(&[]);
        let bit = |gram: &[u8; GRAM_BYTES]| {
            let bit = hash(folded(*gram));
            // INVARIANT: a hash has 16 bits, the map 2^16.
            map.get(bit / 64).map_or(0, |word| word >> (bit % 64) & 1)
        };
        let (grams, _) = chunk.as_chunks::<GRAM_BYTES>();
        let (fours, rest) = grams.as_chunks::<4>();
        let mut at = start;
        for [a, b, c, d] in fours {
            let bits = bit(a) | bit(b) << 1 | bit(c) << 2 | bit(d) << 3;
            if bits != 0 {
                let hit = (0..4).filter(|nth| bits >> nth & 1 != 0);
                places.extend(hit.map(|nth| at + nth * GRAM_BYTES));
            }
            at += 4 * GRAM_BYTES;
        }
        let hit = rest.iter().enumerate().filter(|(_, gram)| bit(gram) != 0);
        places.extend(hit.map(|(nth, _)| at + nth * GRAM_BYTES));
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
        let start = place.checked_sub(part.offset as usize)?;
        let found = body.get(start..start + literal.text.len())?;
        found.eq_ignore_ascii_case(&literal.text).then_some((start, literal))
    }
}

/// Sets of short texts.
const SETS: usize = 8;

/// The halves of bytes that a set takes at each of three places, as bits: low ones and high ones.
#[derive(Clone, Copy, Default)]
struct Halves([(u16, u16); MIN_LITERAL_BYTES]);

impl Halves {
    fn with(mut self, text: [u8; MIN_LITERAL_BYTES]) -> Self {
        for ((low, high), byte) in self.0.iter_mut().zip(text) {
            *low |= 1 << (byte & 15);
            *high |= 1 << (byte >> 4);
        }
        self
    }

    /// How many texts it takes.
    fn breadth(self) -> u32 {
        self.0.iter().map(|(low, high)| low.count_ones() * high.count_ones()).product()
    }
}

/// A gram whatever its case; other bytes that differ in this bit only are told apart later.
#[inline]
fn folded(gram: [u8; GRAM_BYTES]) -> u32 {
    u32::from_le_bytes(gram) | 0x2020_2020
}

#[inline]
fn hash(gram: u32) -> usize {
    slot(gram, u32::BITS - MAP_BITS)
}

/// The window of `length` bytes of which bodies hold the grams least often, and where it begins.
fn rarest(text: &[u8], length: usize) -> Option<(usize, &[u8])> {
    let cost = |window: &[u8]| window.windows(GRAM_BYTES.min(length)).map(gram_commonness).sum::<f64>();
    text.windows(length).enumerate().min_by(|(_, a), (_, b)| cost(a).total_cmp(&cost(b)))
}

/// How often a gram stands in a body, roughly: letters keep company with letters.
fn gram_commonness(gram: &[u8]) -> f64 {
    let bytes: u32 = gram.iter().map(|byte| commonness(*byte)).sum();
    let changes = gram
        .windows(2)
        .filter(|two| matches!(two, [a, b] if a.is_ascii_alphabetic() != b.is_ascii_alphabetic()));
    (f64::from(bytes) / 2.0 - 2.0 * f64::from(u32::try_from(changes.count()).unwrap_or(0))).exp2()
}

/// How common a byte is in HTML, JSON and scripts, roughly as the logarithm of its share.
fn commonness(byte: u8) -> u32 {
    match byte.to_ascii_lowercase() {
        b' ' | b'e' | b't' => 12,
        b'a' | b'i' | b'n' | b'o' | b'r' | b's' => 11,
        b'c' | b'd' | b'l' | b'"' | b'-' => 10,
        b'h' | b'm' | b'p' | b'u' | b'<' | b'>' | b'/' | b'=' | b'.' | b',' | b':' => 9,
        b'b' | b'f' | b'g' | b'v' | b'y' | b'0'..=b'9' => 8,
        b'k' | b'w' | b'x' | b'(' | b')' | b';' => 7,
        b'j' | b'q' | b'z' | b'_' => 5,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detection::anchors::classes::{classify, portable_blocks};

    #[test]
    fn a_text_is_found_wherever_it_stands() {
        let texts: [&[u8]; 4] = [b"Traceback (most", b"pass.rd", b"cvv", b"$argon2"];
        let literals = texts.iter().enumerate().map(|(rule, text)| Literal { text: (*text).into(), rule });
        let literals = Literals::new(literals.collect());
        let mut ran = 0;
        for (rule, text) in texts.iter().enumerate() {
            for shift in 0..150 {
                let mut body = vec![b'.'; shift];
                body.extend(text.to_ascii_uppercase());
                let (mut places, mut blocks, mut found) = (Vec::new(), Vec::new(), Vec::new());
                literals.grams(&body, 0, body.len(), &mut places);
                for place in places {
                    found.extend(literals.at_gram(&body, place).map(|(at, literal)| (at, literal.rule)));
                }
                classify(&body, 0, usize::MAX, &literals.short_texts, &mut blocks, portable_blocks);
                for (nth, block) in blocks.iter().enumerate() {
                    let at = (0..64).filter(|bit| block.short >> bit & 1 != 0).map(|bit| nth * 64 + bit);
                    for place in at {
                        found.extend(literals.at_short(&body, place).map(|(at, literal)| (at, literal.rule)));
                    }
                }
                assert_eq!(found, [(shift, rule)], "{text:?} at {shift}");
                ran += 1;
            }
        }
        assert_eq!(ran, 600);
    }
}
