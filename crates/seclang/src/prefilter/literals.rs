//! The literals that values must hold for needles to be found in them, searched for all at once.
//!
//! Of most patterns every match holds one of a few literals, and a list of phrases is such a set by
//! itself. One pass over a value finds which sets it holds a literal of; needles whose set it holds
//! none of need not be searched. Case and the kind of white space are not looked at: what passes may still not match.

use super::automaton::{Automaton, fold};
use super::literal_places::{self, Blocks};

/// Longer literals are cut: what follows is seen to by the search of the needle itself.
pub(crate) const MAX_LITERAL_BYTES: usize = 12;
/// Most states of the search: memory, for every one is a row of a few hundred bytes.
const MAX_STATES: usize = 1 << 17;
/// Of longer lists each phrase is known by a part.
const MAX_WHOLE_PHRASES: usize = 64;
/// Most literals a list of phrases is known by.
const MAX_PHRASE_LITERALS: usize = 1 << 14;
/// Of each phrase of a long list, the bytes that are rarest.
const PHRASE_LITERAL_BYTES: usize = 4;

/// Folded literals.
pub(crate) type Literals = Vec<Vec<u8>>;

/// Which needles a value may hold, one bit each.
pub type Words = u64;

/// All sets of literals, searched in one pass.
pub struct LiteralIndex {
    automaton: Option<Automaton>,
    /// How many words the answer takes.
    pub(crate) words: usize,
    sets: usize,
}

impl LiteralIndex {
    /// An index of these sets, known by their position.
    pub fn of(sets: &[Vec<Vec<u8>>]) -> Self {
        let numbered = (0u32..).zip(sets);
        let literals = numbered.flat_map(|(set, literals)| literals.iter().map(move |l| (l.as_slice(), set)));
        Self {
            automaton: Automaton::new(literals, MAX_STATES),
            words: sets.len().div_ceil(Words::BITS as usize),
            sets: sets.len(),
        }
    }

    /// Appends the bits of the sets that `text` holds a literal of, or nothing if there are none; if it is long and they are
    /// few, to `places` where they are ([`literal_places::LiteralPlaces::of`]).
    pub fn search(&self, text: &[u8], found: &mut Vec<Words>, places: &mut Vec<Words>) {
        let at = found.len();
        let Some(automaton) = &self.automaton else {
            // Without a search everything may be there.
            found.resize(at + self.words, Words::MAX);
            return;
        };
        let from = places.len();
        let mut blocks = (text.len() >= literal_places::MIN_BYTES).then(|| Blocks::of(text.len()));
        let mut left = text.len() / literal_places::BYTES_PER_LITERAL;
        automaton.search(text, |sets, end| {
            if found.len() == at {
                found.resize(at + self.words, 0);
                places.resize(from + blocks.map_or(0, |blocks| blocks.words_of(self.sets)), 0);
            }
            let found = found.get_mut(at..).unwrap_or_default();
            for set in sets {
                if let Some(word) = found.get_mut((set / Words::BITS) as usize) {
                    *word |= 1 << (set % Words::BITS);
                }
            }
            let Some(of_text) = blocks else { return };
            of_text.note(places.get_mut(from..).unwrap_or_default(), sets, end);
            left = left.saturating_sub(1);
            if left == 0 {
                // They are everywhere.
                places.truncate(from);
                blocks = None;
            }
        });
    }
}

impl std::fmt::Debug for LiteralIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LiteralIndex({} states)", self.automaton.as_ref().map_or(0, Automaton::states))
    }
}

/// Whether the bit of a set is there.
#[inline]
pub fn has(found: &[Words], set: u32) -> bool {
    found.get(set as usize / Words::BITS as usize).is_some_and(|word| word & (1 << (set % Words::BITS)) != 0)
}

/// A text as the search takes it.
pub(crate) fn folded(text: &[u8]) -> Vec<u8> {
    text.iter().map(|byte| fold(*byte)).collect()
}

/// The literals of a list of phrases: the phrases themselves, or of each a part if they are many.
pub fn of_phrases(phrases: &[String]) -> Option<Literals> {
    let literals: Literals = phrases.iter().map(|phrase| folded(phrase.as_bytes())).collect();
    if literals.iter().any(Vec::is_empty) {
        return None;
    }
    if literals.len() <= MAX_WHOLE_PHRASES {
        return Some(cut(literals));
    }
    let parts = cut(literals.iter().map(|literal| rarest(literal).to_vec()).collect());
    (parts.len() <= MAX_PHRASE_LITERALS).then_some(parts)
}

/// The part of a phrase that is least likely to stand in any other text.
fn rarest(phrase: &[u8]) -> &[u8] {
    let rarity = |byte: &u8| match byte {
        b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 1,
        b'a'..=b'z' | b' ' => 2,
        b'0'..=b'9' | b'/' | b'-' => 3,
        _ => 5,
    };
    let parts = phrase.windows(PHRASE_LITERAL_BYTES);
    parts.max_by_key(|part| part.iter().map(rarity).sum::<u32>()).unwrap_or(phrase)
}

fn cut(mut literals: Literals) -> Literals {
    literals.iter_mut().for_each(|literal| literal.truncate(MAX_LITERAL_BYTES));
    literals.sort_unstable();
    literals.dedup();
    literals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefilter::literal_places::LiteralPlaces;

    #[test]
    fn of_long_lists_a_part_of_each_phrase() {
        let words: Vec<String> = (0..100).map(|n| format!("prefix{n:02}~eta")).collect();
        let parts = of_phrases(&words).unwrap();
        assert!(parts.contains(&b"x07~".to_vec()) && parts.len() == 100);
        let short: Vec<String> = words.iter().cloned().chain(["AB".to_owned()]).collect();
        assert!(of_phrases(&short).unwrap().contains(&b"ab".to_vec()));
        assert_eq!(of_phrases(&["a".to_owned(), String::new()]), None);
    }

    #[test]
    fn one_pass_finds_every_set() {
        let sets = [vec![b"abc".to_vec(), b"bcd".to_vec()], vec![b"cde".to_vec()], vec![b"xyz".to_vec()]];
        let index = LiteralIndex::of(&sets);
        let mut found = vec![7];
        let mut places = Vec::new();
        index.search(b"..ABD", &mut found, &mut places);
        assert_eq!(found, [7]);
        index.search(b"..ABCDE..", &mut found, &mut places);
        let found = found.split_off(1);
        assert_eq!((has(&found, 0), has(&found, 1), has(&found, 2)), (true, true, false));
        assert!(places.is_empty());
    }

    #[test]
    fn of_long_texts_it_tells_where() {
        let index = LiteralIndex::of(&[vec![b"abc".to_vec()], vec![b"cde".to_vec()], vec![b"x".to_vec()]]);
        let mut text = vec![b'.'; 5000];
        text[2000..2005].copy_from_slice(b"ABCde");
        text[4990..4993].copy_from_slice(b"abc");
        let (mut found, mut places) = (Vec::new(), vec![7]);
        index.search(&text, &mut found, &mut places);
        let ranges = |set| {
            let places = LiteralPlaces::of(&places[1..], set, text.len()).unwrap();
            places.ranges().collect::<Vec<_>>()
        };
        assert_eq!(ranges(0), [1984..2048, 4992..5056]);
        assert!(ranges(1).into_iter().eq(std::iter::once(1984..2048)));
        assert!(ranges(2).is_empty());
    }
}
