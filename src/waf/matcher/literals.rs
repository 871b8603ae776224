//! The literals that values must hold for needles to be found in them, searched for all at once.
//!
//! Of most patterns every match holds one of a few literals, and a list of phrases is such a set by
//! itself. One pass over a value finds which sets it holds a literal of; needles whose set it holds
//! none of need not be searched. Case is not looked at: what passes may still not match.

use regex_syntax::hir::{Class, Hir, HirKind};

use super::automaton::Automaton;

/// Shorter literals stand in too many benign values to be worth a search.
const MIN_LITERAL_BYTES: usize = 3;
/// Longer literals are cut: what follows is seen to by the search of the needle itself.
const MAX_LITERAL_BYTES: usize = 8;
/// Most states of the search: memory, for every one is a row of a few hundred bytes.
const MAX_STATES: usize = 1 << 17;
/// Most literals one needle is known by: every one makes the automaton larger for all.
const MAX_LITERALS: usize = 256;
/// Of longer lists each phrase is known by a part.
const MAX_WHOLE_PHRASES: usize = 64;
/// Most literals a list of phrases is known by.
const MAX_PHRASE_LITERALS: usize = 1 << 14;
/// Of each phrase of a long list, the bytes that are rarest.
const PHRASE_LITERAL_BYTES: usize = 4;
/// Most strings that a part of a pattern is spelled out as.
const MAX_SPELLINGS: usize = 64;

/// Lower-case literals.
type Literals = Vec<Vec<u8>>;

/// Which needles a value may hold, one bit each.
pub type Words = u64;

/// All sets of literals, searched in one pass.
pub struct LiteralIndex {
    automaton: Option<Automaton>,
    /// How many words the answer takes.
    pub(super) words: usize,
}

impl LiteralIndex {
    /// An index of these sets, known by their position.
    pub fn of(sets: &[Vec<Vec<u8>>]) -> Self {
        let numbered = (0u32..).zip(sets);
        let literals = numbered.flat_map(|(set, literals)| literals.iter().map(move |l| (l.as_slice(), set)));
        Self {
            automaton: Automaton::new(literals, MAX_STATES),
            words: sets.len().div_ceil(Words::BITS as usize),
        }
    }

    /// Appends the bits of the sets that `text` holds a literal of, or nothing where there are none.
    pub fn search(&self, text: &[u8], found: &mut Vec<Words>) {
        let at = found.len();
        let Some(automaton) = &self.automaton else {
            // Without a search everything may be there.
            found.resize(at + self.words, Words::MAX);
            return;
        };
        automaton.search(text, |set| {
            if found.len() == at {
                found.resize(at + self.words, 0);
            }
            if let Some(word) = found.get_mut(at + (set / Words::BITS) as usize) {
                *word |= 1 << (set % Words::BITS);
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

/// Literals of which every match of a pattern holds one.
pub fn of_pattern(hir: &Hir) -> Option<Literals> {
    let parts = Parts::of(hir);
    let best = better(parts.required, parts.spellings)?;
    (shortest(&best) >= MIN_LITERAL_BYTES && best.len() <= MAX_LITERALS).then(|| cut(best))
}

/// The literals of a list of phrases: the phrases themselves, or of each a part where they are many.
pub fn of_phrases(phrases: &[String]) -> Option<Literals> {
    let literals: Literals = phrases.iter().map(|phrase| phrase.to_ascii_lowercase().into_bytes()).collect();
    if shortest(&literals) == 0 {
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

/// What is known of a part of a pattern.
struct Parts {
    /// Everything that it matches, where that is little.
    spellings: Option<Literals>,
    /// Literals of which everything that it matches holds one.
    required: Option<Literals>,
}

impl Parts {
    fn of(hir: &Hir) -> Self {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Self::spelled(vec![Vec::new()]),
            HirKind::Literal(literal) => Self::spelled(vec![literal.0.to_ascii_lowercase()]),
            HirKind::Class(class) => Self { spellings: members(class), required: None },
            HirKind::Capture(capture) => Self::of(&capture.sub),
            HirKind::Repetition(repetition) => {
                let once = Self::of(&repetition.sub);
                match (repetition.min, repetition.max) {
                    (0, Some(1)) => Self {
                        spellings: once.spellings.map(|mut all| {
                            all.push(Vec::new());
                            all
                        }),
                        required: None,
                    },
                    (0, _) => Self { spellings: None, required: None },
                    (1, Some(1)) => once,
                    (min, Some(max)) if min == max && once.spellings.is_some() => {
                        Self::concat((0..min.min(16)).map(|_| Self::of(&repetition.sub)), min <= 16)
                    }
                    _ => Self { spellings: None, required: better(once.required, once.spellings) },
                }
            }
            HirKind::Concat(parts) => Self::concat(parts.iter().map(Self::of), true),
            HirKind::Alternation(branches) => Self::alternation(branches),
        }
    }

    fn spelled(spellings: Literals) -> Self {
        Self { spellings: Some(spellings), required: None }
    }

    /// One after the other; `is_all` says that nothing follows.
    fn concat(parts: impl Iterator<Item = Self>, is_all: bool) -> Self {
        let (mut run, mut required) = (Some(vec![Vec::new()]), None);
        let mut is_spelled = is_all;
        for part in parts {
            let joined = run.as_ref().zip(part.spellings.as_ref()).and_then(|(run, next)| product(run, next));
            if joined.is_none() {
                is_spelled = false;
                required = better(better(required, run), part.required);
            }
            run = joined.or(part.spellings).or_else(|| Some(vec![Vec::new()]));
        }
        if is_spelled {
            Self { spellings: run, required }
        } else {
            Self { spellings: None, required: better(required, run) }
        }
    }

    fn alternation(branches: &[Hir]) -> Self {
        let (mut spellings, mut required) = (Some(Vec::new()), Some(Vec::new()));
        for branch in branches {
            let parts = Self::of(branch);
            spellings = spellings.zip(parts.spellings.clone()).map(|(mut all, more): (Literals, _)| {
                all.extend(more);
                all
            });
            required = required.zip(better(parts.required, parts.spellings)).map(
                |(mut all, more): (Literals, _)| {
                    all.extend(more);
                    all
                },
            );
        }
        Self {
            spellings: spellings.filter(|all| all.len() <= MAX_SPELLINGS),
            required: required.filter(|all| all.len() <= MAX_LITERALS),
        }
    }
}

/// Each of the one followed by each of the other; `None` where that is too much.
fn product(first: &Literals, second: &Literals) -> Option<Literals> {
    if first.len() * second.len() > MAX_SPELLINGS {
        return None;
    }
    let joined = first.iter().flat_map(|a| second.iter().map(|b| [a.as_slice(), b].concat()));
    Some(joined.collect())
}

/// The bytes of a class that has few, without regard to case.
fn members(class: &Class) -> Option<Literals> {
    let Class::Bytes(class) = class else { return None };
    let mut bytes = Vec::new();
    for range in class.iter() {
        if range.end() - range.start() > 16 {
            return None;
        }
        bytes.extend((range.start()..=range.end()).map(|byte| vec![byte.to_ascii_lowercase()]));
    }
    bytes.sort_unstable();
    bytes.dedup();
    (bytes.len() <= 8).then_some(bytes)
}

fn shortest(literals: &Literals) -> usize {
    literals.iter().map(Vec::len).min().unwrap_or(0)
}

/// The set that says more: longer literals first, then fewer.
fn better(one: Option<Literals>, other: Option<Literals>) -> Option<Literals> {
    let worth = |set: &Literals| (shortest(set).min(5), usize::MAX - set.len());
    match (one, other) {
        (Some(one), Some(other)) => Some(if worth(&one) >= worth(&other) { one } else { other }),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;

    fn literals(pattern: &str) -> Option<Vec<String>> {
        let syntax = Pattern::with_syntax(pattern).unwrap().1.unwrap();
        let found = of_pattern(&syntax)?;
        Some(found.into_iter().map(|literal| String::from_utf8(literal).unwrap()).collect())
    }

    #[test]
    fn what_every_match_holds() {
        let of = |pattern: &str| literals(pattern).map(|all| all.join(" "));
        for (pattern, expected) in [
            ("(?i)union.{1,100}select", Some("union")),
            (r"\b(?:select|from)\b", Some("from select")),
            ("(?i)un(?:ion|til)s?", Some("union unions until untils")),
            (r"x*abc[0-9]+defgh?", Some("defg defgh")),
            ("(?:abc|d+)", None),
            ("[a-z]+", None),
            ("ab", None),
            ("(?:abc)?", None),
            ("(?:abc)+x", Some("abc")),
            ("(?:ab){2}", Some("abab")),
            ("^<script", Some("<script")),
            ("a_very_long_literal", Some("a_very_l")),
        ] {
            assert_eq!(of(pattern).as_deref(), expected, "{pattern}");
        }
    }

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
        index.search(b"..ABD", &mut found);
        assert_eq!(found, [7]);
        index.search(b"..ABCDE..", &mut found);
        let found = found.split_off(1);
        assert_eq!((has(&found, 0), has(&found, 1), has(&found, 2)), (true, true, false));
    }
}
