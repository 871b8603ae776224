//! Texts that a rule begins at, found in one pass whatever their number and case.
//!
//! Of a text of seven bytes and more, the four grams of four bytes in its rarest window of seven are
//! entered in a bit map: every fourth byte of a body begins a gram, so one of the four is met. Shorter
//! texts are looked for at each place ([`ShortTexts`]). What is met is compared as a whole.

use std::collections::HashMap;

use super::classes::ShortTexts;

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
    grams: HashMap<u32, Vec<Part>, foldhash::fast::FixedState>,
    short: HashMap<[u8; 3], Vec<Part>, foldhash::fast::FixedState>,
    pub short_texts: ShortTexts,
}

impl Literals {
    pub fn new(literals: Vec<Literal>) -> Self {
        let mut all = Self { map: vec![0; 1 << (MAP_BITS - 6)], ..Self::default() };
        let mut sets: Vec<u8> = Vec::new();
        for (index, literal) in literals.iter().enumerate() {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            if literal.text.len() >= WINDOW_BYTES {
                all.enter(index, &literal.text);
            } else if let Some((offset, text)) = rarest(&literal.text, MIN_LITERAL_BYTES) {
                let Some(text) = text.first_chunk::<3>().map(|text| text.map(|byte| byte | 0x20)) else {
                    continue;
                };
                // Texts that begin alike share a set: that keeps the sets narrow.
                let set = sets.iter().position(|first| *first == text[0]).unwrap_or_else(|| {
                    sets.push(text[0]);
                    sets.len() - 1
                });
                all.short_texts.add(text, u8::try_from(set % 8).unwrap_or(0));
                let offset = u32::try_from(offset).unwrap_or(0);
                all.short.entry(text).or_default().push(Part { literal: index, offset });
            }
        }
        all.literals = literals;
        all
    }

    fn enter(&mut self, literal: u32, text: &[u8]) {
        let Some((start, window)) = rarest(text, WINDOW_BYTES) else { return };
        for (offset, gram) in window.windows(GRAM_BYTES).enumerate() {
            let Some(gram) = gram.first_chunk().map(|gram| folded(*gram)) else { continue };
            let bit = hash(gram);
            if let Some(word) = self.map.get_mut(bit / 64) {
                *word |= 1 << (bit % 64);
            }
            let offset = u32::try_from(start + offset).unwrap_or(0);
            self.grams.entry(gram).or_default().push(Part { literal, offset });
        }
    }

    /// Places in `body[start..end]` where a gram of a text stands; `start` is a multiple of
    /// [`GRAM_BYTES`].
    pub fn grams(&self, body: &[u8], start: usize, end: usize, places: &mut Vec<usize>) {
        if self.grams.is_empty() {
            return;
        }
        let Some(map) = self.map.first_chunk::<{ 1 << (MAP_BITS - 6) }>() else { return };
        let chunk = body.get(start..end.min(body.len())).unwrap_or(&[]);
        let (grams, _) = chunk.as_chunks::<GRAM_BYTES>();
        for (nth, gram) in grams.iter().enumerate() {
            let bit = hash(folded(*gram));
            // INVARIANT: a hash has 16 bits, the map 2^16.
            if map.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 != 0) {
                places.push(start + nth * GRAM_BYTES);
            }
        }
    }

    /// The texts of which a gram stands at `place`.
    pub fn at_gram<'l>(&'l self, body: &'l [u8], place: usize) -> impl Iterator<Item = (usize, &'l Literal)> {
        let gram = body.get(place..).and_then(|rest| rest.first_chunk()).map(|gram| folded(*gram));
        let parts = gram.and_then(|gram| self.grams.get(&gram)).map_or(&[][..], Vec::as_slice);
        self.whole(body, place, parts)
    }

    /// The texts of which the rarest three bytes stand at `place`.
    pub fn at_short<'l>(
        &'l self,
        body: &'l [u8],
        place: usize,
    ) -> impl Iterator<Item = (usize, &'l Literal)> {
        let text = body.get(place..).and_then(|rest| rest.first_chunk::<3>());
        let text = text.map(|text| text.map(|byte| byte | 0x20));
        let parts = text.and_then(|text| self.short.get(&text)).map_or(&[][..], Vec::as_slice);
        self.whole(body, place, parts)
    }

    fn whole<'l>(
        &'l self,
        body: &'l [u8],
        place: usize,
        parts: &'l [Part],
    ) -> impl Iterator<Item = (usize, &'l Literal)> {
        parts.iter().filter_map(move |part| {
            let literal = self.literals.get(part.literal as usize)?;
            let start = place.checked_sub(part.offset as usize)?;
            let found = body.get(start..start + literal.text.len())?;
            found.eq_ignore_ascii_case(&literal.text).then_some((start, literal))
        })
    }
}

/// A gram whatever its case; other bytes that differ in this bit only are told apart later.
fn folded(gram: [u8; GRAM_BYTES]) -> u32 {
    u32::from_le_bytes(gram) | 0x2020_2020
}

fn hash(gram: u32) -> usize {
    (gram.wrapping_mul(0x9E37_79B1) >> (32 - MAP_BITS)) as usize
}

/// The window of `length` bytes that bodies hold least often, and where it begins.
fn rarest(text: &[u8], length: usize) -> Option<(usize, &[u8])> {
    text.windows(length)
        .enumerate()
        .min_by_key(|(_, window)| window.iter().map(|byte| commonness(*byte)).sum::<u32>())
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
    use crate::detection::anchors::classes::classify;

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
                classify(&body, 0, usize::MAX, &literals.short_texts, &mut blocks);
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
