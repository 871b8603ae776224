//! The patterns and phrase lists of a rule set, each compiled once, before anyone asks for it and on
//! every core: most of the time that loading takes goes here.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ::pattern::EngineKind;
use aho_corasick::AhoCorasick;

use super::{Pattern, Prefilter};
use crate::prefilter::{literals, required};

/// A pattern with what must be in a value for it to match.
#[derive(Debug)]
pub struct Searcher {
    pub(super) pattern: Pattern,
    pub(super) prefilter: Prefilter,
    pub(super) literals: Option<Vec<Vec<u8>>>,
}

/// A search for any of many phrases.
#[derive(Debug)]
pub struct PhraseSearcher {
    pub(super) automaton: AhoCorasick,
    pub(super) literals: Option<Vec<Vec<u8>>>,
}

/// What operators search with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Needle {
    Pattern(String),
    /// Any of these, without regard to ASCII case.
    Phrases(Vec<String>),
}

#[derive(Clone, Debug)]
enum Compiled {
    Pattern(Arc<Searcher>),
    Phrases(Arc<PhraseSearcher>),
}

/// Compiled needles, or why they cannot be compiled.
#[derive(Clone, Debug, Default)]
pub struct Patterns(HashMap<Needle, Result<Compiled, String>>);

impl Patterns {
    /// Compiles each needle once.
    pub fn compile(needles: impl IntoIterator<Item = Needle>) -> Self {
        let mut needles: Vec<Needle> = needles.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        // The long ones first, so that no core is left with one at the end.
        needles.sort_by_key(|needle| std::cmp::Reverse(needle.len()));
        let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let next = AtomicUsize::new(0);
        let work = || {
            let mine = std::iter::from_fn(|| needles.get(next.fetch_add(1, Ordering::Relaxed)));
            mine.map(|needle| (needle.clone(), needle.compile())).collect::<Vec<_>>()
        };
        let compiled = std::thread::scope(|scope| {
            let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
            let mut compiled = work();
            // A worker that panicked is missed below: its needles are compiled when they are asked for.
            compiled.extend(others.into_iter().filter_map(|worker| worker.join().ok()).flatten());
            compiled
        });
        Self(compiled.into_iter().collect())
    }

    fn get(&self, needle: &Needle) -> Result<Compiled, String> {
        self.0.get(needle).cloned().unwrap_or_else(|| needle.compile())
    }

    /// The pattern of a text.
    ///
    /// # Errors
    /// One sentence: why it cannot be compiled.
    pub(super) fn pattern(&self, text: &str) -> Result<Arc<Searcher>, String> {
        match self.get(&Needle::Pattern(text.to_owned()))? {
            Compiled::Pattern(searcher) => Ok(searcher),
            Compiled::Phrases(_) => Err("a list of phrases is no pattern".to_owned()),
        }
    }

    /// The search for a list of phrases.
    ///
    /// # Errors
    /// One sentence: why it cannot be compiled.
    pub(super) fn phrases(&self, phrases: Vec<String>) -> Result<Arc<PhraseSearcher>, String> {
        match self.get(&Needle::Phrases(phrases))? {
            Compiled::Phrases(searcher) => Ok(searcher),
            Compiled::Pattern(_) => Err("a pattern is no list of phrases".to_owned()),
        }
    }

    /// The engine of a pattern that is among them.
    pub fn engine_kind(&self, pattern: &str) -> Option<EngineKind> {
        match self.0.get(&Needle::Pattern(pattern.to_owned())) {
            Some(Ok(Compiled::Pattern(searcher))) => Some(searcher.pattern.engine_kind()),
            _ => None,
        }
    }
}

impl Needle {
    fn len(&self) -> usize {
        match self {
            Self::Pattern(text) => text.len(),
            Self::Phrases(phrases) => phrases.iter().map(String::len).sum(),
        }
    }

    fn compile(&self) -> Result<Compiled, String> {
        match self {
            Self::Pattern(text) => Pattern::with_syntax(text).map(|(pattern, syntax)| {
                let prefilter = syntax.as_ref().map(Prefilter::of).unwrap_or_default();
                let literals = syntax.as_ref().and_then(required::of_pattern);
                Compiled::Pattern(Arc::new(Searcher { pattern, prefilter, literals }))
            }),
            Self::Phrases(phrases) if phrases.is_empty() => {
                Err("expected at least one phrase to look for".to_owned())
            }
            Self::Phrases(phrases) => AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .build(phrases)
                .map(|automaton| {
                    let literals = literals::of_phrases(phrases);
                    Compiled::Phrases(Arc::new(PhraseSearcher { automaton, literals }))
                })
                .map_err(|error| format!("the phrases cannot be compiled: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use crate::prefilter::literal_places::LiteralPlaces;
    use crate::syntax::MemoryLoader;
    use crate::test_numbers::TestNumbers;

    #[test]
    fn each_text_is_there_with_its_mistake_or_its_pattern() {
        let texts: Vec<String> =
            (0..50).map(|n| format!("a{n}")).chain(["(".to_owned(), "a(?!b)".to_owned()]).collect();
        let phrases = Needle::Phrases(vec!["Hay".to_owned()]);
        let patterns = Patterns::compile(texts.into_iter().map(Needle::Pattern).chain([phrases]));
        assert_eq!(patterns.0.len(), 53);
        assert!(patterns.pattern("a7").unwrap().pattern.is_match(b"xa7"));
        assert_eq!(patterns.pattern("(").unwrap_err(), "unclosed group");
        assert_eq!(patterns.engine_kind("a(?!b)"), Some(EngineKind::Backtracker));
        assert_eq!(patterns.engine_kind("never seen"), None);
        assert!(patterns.pattern("never seen").is_ok());
        assert!(patterns.phrases(vec!["Hay".to_owned()]).unwrap().automaton.is_match("hay"));
        assert!(patterns.phrases(Vec::new()).is_err());
    }

    /// A long text of plain words. One part of it is made of the literals, and of words, marks and line breaks.
    fn text(literals: &[Vec<u8>], numbers: &mut TestNumbers) -> Vec<u8> {
        const WORDS: &[&str] = &[
            "some words of a line",
            "name",
            "1",
            "x",
            " ",
            " ",
            "  ",
            "\t",
            "=",
            "(",
            ")",
            ";",
            "'",
            "\"",
            "<",
            ">",
            "/",
            "\\",
            "$",
            "{",
            "}",
            "[",
            "]",
            "|",
            "&",
            "-",
            "a.b",
            ": ",
            ". ",
            "\n",
            "\r\n",
            "\n\n",
        ];
        let is_in_lines = numbers.below(2) == 0;
        let mut text = if numbers.below(4) == 0 { b"{\"a\":\"".to_vec() } else { Vec::new() };
        let fill = |text: &mut Vec<u8>, lines: usize| {
            let line_end = if is_in_lines { "\n" } else { " " };
            text.extend_from_slice(
                format!("mmm nnn mmmm nnnn mmmm nnn mmm nnnn{line_end}").repeat(lines).as_bytes(),
            );
        };
        fill(&mut text, numbers.below(400));
        let length = text.len() + 100 + numbers.below(500);
        let share = 1 + numbers.below(60);
        while text.len() < length {
            match literals.get(numbers.below(literals.len().max(1))) {
                Some(literal) if numbers.below(share) == 0 => text.extend_from_slice(literal),
                _ => {
                    let word = WORDS.get(numbers.below(WORDS.len())).copied().unwrap_or_default();
                    let ends_line = word.contains(['\n', '\r']);
                    text.extend_from_slice(if ends_line && !is_in_lines { " " } else { word }.as_bytes());
                }
            }
        }
        fill(&mut text, 300 + numbers.below(400));
        text
    }

    #[test]
    fn what_is_found_near_literals_is_found_in_the_whole_and_nothing_else() {
        let texts = || shipped_rules::OWASP.iter().map(|(name, text)| ((*name).to_owned(), *text));
        let names: Vec<String> = texts().map(|(name, _)| name).collect();
        let loader = MemoryLoader(texts().map(|(name, text)| (name, text.to_owned())).collect());
        let program = crate::optimize(&crate::load(&names, &loader).0);
        let links = program.roots.iter().flat_map(|root| &root.links);
        let tests = links.filter_map(|link| Some((link.test.as_ref()?, link.precondition.literals?)));
        let data = Data::default();
        let mut numbers = TestNumbers(3);
        let (mut ran, mut matched, mut tried) = (0, 0, 0);
        for (test, set) in tests {
            tried += 1;
            for _ in 0..40 {
                let text = text(test.literals().unwrap_or_default(), &mut numbers);
                let (mut found, mut kept) = (Vec::new(), Vec::new());
                program.literals.search(&text, &mut found, &mut kept);
                let expected = test.is_match(&text, &data);
                if !literals::has(&found, set) {
                    assert!(!expected, "{}", String::from_utf8_lossy(&text));
                    continue;
                }
                // Where there are many it is not kept.
                let Some(places) = LiteralPlaces::of(&kept, set, text.len()) else { continue };
                let near = test.is_match_near(&text, places, &data);
                assert_eq!(near, expected, "{:?} in {}", test.literals(), String::from_utf8_lossy(&text));
                ran += 1;
                matched += usize::from(expected);
            }
        }
        assert!(
            tried > 150 && ran > 4000 && matched > 1000 && ran - matched > 1000,
            "{tried}, {ran}, {matched}"
        );
    }
}
