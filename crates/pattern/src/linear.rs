//! Patterns without look-around: automata built as they are walked answer whether a text matches, which is nearly all
//! that is ever asked. A slower engine, compiled on first use, finds where and how it matches.
//!
//! A branch with a long bounded repetition, such as `<[^>]{0,40}on`, has many states. In one automaton they multiply
//! with the states of the other branches; a random text then makes nearly every byte cost a new state. So each such
//! branch has an automaton of its own as well, and the rest share one: they are walked if the automaton of all takes
//! too many states, and compiled then.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::pool::Pool;
use regex_automata::util::prefilter::Prefilter;
use regex_automata::{Input, MatchKind, meta};
use regex_syntax::hir::{Hir, HirKind};

use super::lanes::{self, LONG_BYTES};
use super::{MAX_COMPILED_BYTES, reason};

/// Most that one thread keeps of an automaton.
const CACHE_BYTES: usize = 2 << 20;
/// Caches that a text may fill, and bytes it must advance for each state built, before the slower
/// engine takes over: no text may make every byte cost a state.
const MAX_FILLED_CACHES: usize = 3;
const MIN_BYTES_PER_STATE: usize = 10;
/// Repetitions from here on have many states.
const MIN_LONG_REPETITION: u32 = 8;
/// Most of such branches that are taken apart: a text is read once for each.
const MAX_LONG_BRANCHES: usize = 64;
/// States that one text may add to the automaton of a whole pattern before its branches are searched apart, besides
/// those that its length allows: of texts of a kind the first few add nearly all there are.
const NEW_STATES: usize = 1024;
/// Most texts that are then searched so without another try; the first time it is one.
const MAX_RESTING_TEXTS: u32 = 64;

type NewCache = Box<dyn Fn() -> Cache + Send + Sync + UnwindSafe + RefUnwindSafe>;

pub(super) struct Linear {
    whole: Part,
    /// Whether one of several branches has a long repetition.
    has_parts: bool,
    /// The branches apart; none if they cannot be compiled, although the whole could.
    parts: OnceLock<Vec<Part>>,
    /// Texts that go to the parts at once, because the whole gave up on one before them.
    resting: AtomicU32,
    /// Texts that did so the last time; 0 if the whole did not give up since.
    rested: AtomicU32,
    /// `None` if it cannot be compiled, although the automata could.
    full: OnceLock<Option<meta::Regex>>,
}

/// The automaton of some branches of a pattern.
struct Part {
    automaton: Arc<DFA>,
    caches: Pool<Cache, NewCache>,
    /// Whether it skips to the bytes that a match begins with.
    skips: bool,
}

impl Linear {
    /// Compiles a syntax tree.
    ///
    /// # Errors
    /// One sentence: that it is too big, or what the engine says.
    pub(super) fn new(hir: &Hir) -> Result<Self, String> {
        let whole = Part::new(hir, false)?;
        let has_parts = has_parts(&branches(hir));
        let (parts, full) = (OnceLock::new(), OnceLock::new());
        let (resting, rested) = (AtomicU32::new(0), AtomicU32::new(0));
        Ok(Self { whole, has_parts, parts, resting, rested, full })
    }

    /// Whether a text that needs too many states is searched for branches apart.
    pub(super) fn has_parts(&self) -> bool {
        self.has_parts
    }

    #[inline]
    pub(super) fn is_match(&self, text: &[u8], parse: impl Fn() -> Option<Hir>) -> bool {
        // What cannot be decided counts as a match.
        let by_full = || self.full(&parse).is_none_or(|full| full.is_match(text));
        if !self.has_parts {
            return self.whole.is_match(text).unwrap_or_else(by_full);
        }
        let resting = self.resting.load(Ordering::Relaxed);
        if resting > 0 {
            self.resting.store(resting - 1, Ordering::Relaxed);
        } else if let Some(found) = self.whole.is_match_within(text, NEW_STATES) {
            self.rested.store(0, Ordering::Relaxed);
            return found;
        } else {
            let rest = (2 * self.rested.load(Ordering::Relaxed)).clamp(1, MAX_RESTING_TEXTS);
            self.rested.store(rest, Ordering::Relaxed);
            self.resting.store(rest, Ordering::Relaxed);
        }
        let compile = |hir: Hir| parts(&hir).iter().map(|part| Part::new(part, true).ok()).collect();
        match self.parts.get_or_init(|| parse().and_then(compile).unwrap_or_default()).as_slice() {
            [] => by_full(),
            // The full engine answers for all of them.
            parts => match parts.iter().map(|part| part.is_match(text)).find(|found| *found != Some(false)) {
                Some(None) => by_full(),
                found => found.is_some(),
            },
        }
    }

    /// The engine that finds where a match is; `parse` gives the syntax tree, if it is not compiled yet.
    pub(super) fn full(&self, parse: impl FnOnce() -> Option<Hir>) -> Option<&meta::Regex> {
        let compile = || {
            let config = meta::Config::new()
                // Matches are spans of bytes, wherever they fall in a character.
                .utf8_empty(false)
                .nfa_size_limit(None);
            meta::Builder::new().configure(config).build_from_hir(&parse()?).ok()
        };
        self.full.get_or_init(compile).as_ref()
    }
}

impl Part {
    /// Compiles a syntax tree; `may_skip` says that it may look for the bytes that a match begins with.
    fn new(hir: &Hir, may_skip: bool) -> Result<Self, String> {
        let nfa = thompson::Compiler::new()
            .configure(
                thompson::Config::new()
                    .utf8(false)
                    .nfa_size_limit(Some(MAX_COMPILED_BYTES))
                    .which_captures(WhichCaptures::None),
            )
            .build_from_hir(hir)
            .map_err(|error| match error.size_limit() {
                Some(_) => format!("the compiled pattern is over {MAX_COMPILED_BYTES} bytes"),
                None => reason(&error.to_string()),
            })?;
        let first = may_skip.then(|| Prefilter::from_hir_prefix(MatchKind::LeftmostFirst, hir)).flatten();
        let first = first.filter(Prefilter::is_fast);
        let skips = first.is_some();
        let config = DFA::config()
            .prefilter(first)
            .cache_capacity(CACHE_BYTES)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(MAX_FILLED_CACHES))
            .minimum_bytes_per_state(Some(MIN_BYTES_PER_STATE));
        let automaton = DFA::builder()
            .configure(config)
            .build_from_nfa(nfa)
            .map_err(|error| reason(&error.to_string()))?;
        let automaton = Arc::new(automaton);
        let of = Arc::clone(&automaton);
        let caches = Pool::new(Box::new(move || of.create_cache()) as NewCache);
        Ok(Self { automaton, caches, skips })
    }

    /// Whether the text matches; `None` if that would take too many states.
    #[inline]
    fn is_match(&self, text: &[u8]) -> Option<bool> {
        let mut cache = self.caches.get();
        if text.len() >= LONG_BYTES
            && !self.skips
            && let Some(found) = lanes::is_match(&self.automaton, &mut cache, text, usize::MAX)
        {
            return Some(found);
        }
        let found = self.automaton.try_search_fwd(&mut cache, &Input::new(text).earliest(true));
        found.ok().map(|found| found.is_some())
    }

    /// The same; `None` if it takes more new states than this and one for each few bytes.
    fn is_match_within(&self, text: &[u8], new_states: usize) -> Option<bool> {
        lanes::is_match(&self.automaton, &mut self.caches.get(), text, new_states)
    }
}

/// The pattern as alternatives: each branch with a long repetition, and the rest as one.
fn parts(hir: &Hir) -> Vec<Hir> {
    let (long, rest): (Vec<Hir>, Vec<Hir>) =
        branches(hir).into_iter().cloned().partition(has_long_repetition);
    let rest = (!rest.is_empty()).then(|| Hir::alternation(rest));
    rest.into_iter().chain(long).collect()
}

/// Whether these branches are worth to be taken apart.
fn has_parts(branches: &[&Hir]) -> bool {
    let long = branches.iter().filter(|branch| has_long_repetition(branch)).count();
    branches.len() >= 2 && (1..=MAX_LONG_BRANCHES).contains(&long)
}

fn branches(hir: &Hir) -> Vec<&Hir> {
    match hir.kind() {
        HirKind::Capture(capture) => branches(&capture.sub),
        HirKind::Alternation(all) => all.iter().flat_map(branches).collect(),
        _ => vec![hir],
    }
}

/// Whether a pattern has a bounded repetition of much that differs.
fn has_long_repetition(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Literal(_) | HirKind::Class(_) => false,
        HirKind::Repetition(repetition) => {
            let is_long = repetition.max.is_some_and(|max| max >= MIN_LONG_REPETITION);
            is_long && !matches!(repetition.sub.kind(), HirKind::Literal(_))
                || has_long_repetition(&repetition.sub)
        }
        HirKind::Capture(capture) => has_long_repetition(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(has_long_repetition),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pattern;
    use super::*;

    #[test]
    fn no_text_makes_every_byte_cost_a_state() {
        // Every state of the automaton is a set of places in the last 24 bytes.
        let pattern = Pattern::new("(?:a|b)*a(?:a|b){24}c").unwrap();
        let mut state = 1u32;
        let text: Vec<u8> = (0..200_000)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if state >> 31 == 0 { b'a' } else { b'b' }
            })
            .collect();
        assert!(!pattern.is_match(&text));
        assert!(pattern.is_match(&[text, b"a".repeat(25), b"c".to_vec()].concat()));
    }

    #[test]
    fn branches_apart_match_what_the_whole_matches() {
        let source = r"<[^>]{0,40}on=|\$[a-z<]{0,20}\(|(?:^|[<$])[^ ]{0,30}(?:<\?|x\()|[(][^)]{8,30}[)]=|zq$";
        let hir = super::super::parse(source).unwrap();
        let linear = Linear::new(&hir).unwrap();
        assert!(linear.has_parts && linear.parts.get().is_none());
        let full = linear.full(|| Some(hir.clone())).unwrap();
        let (mut state, mut matched, mut rested) = (1u32, 0, 0);
        for nth in 0..3000 {
            let text: Vec<u8> = (0..100 + nth % 2000)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    b"<$(aaaabcdefgh  zzzqqq=o"[(state >> 16) as usize % 24]
                })
                .collect();
            let expected = full.is_match(&text);
            assert_eq!(
                linear.is_match(&text, || Some(hir.clone())),
                expected,
                "{}",
                String::from_utf8_lossy(&text)
            );
            matched += usize::from(expected);
            rested += usize::from(linear.resting.load(Ordering::Relaxed) > 0);
        }
        assert_eq!(linear.parts.get().map(Vec::len), Some(5));
        assert!(matched > 50 && matched < 2_950 && rested > 300, "{matched} matched, {rested} by parts");
    }

    #[test]
    fn long_texts_match_wherever_the_pattern_does() {
        let patterns = [
            "^a+b",
            "^(?:json\\.)?x|zq",
            "a$",
            "\\bzq\\b",
            "(?m)^zq",
            "(?m)q$",
            "(?:^|[;|])zq",
            "[^a]q",
            "q{0,2}z",
            "^$",
            "(?:^z)*q",
            "zq|^a*$",
            "(?i)ZQ",
            "\\Bq",
            "z[^q]*b",
            "^[^z]*z[^b]*b",
            "z.{100,300}b",
            "^[a ]*zq",
        ];
        let mut texts = Vec::new();
        for filling in ["a", "a ", "\n", "az ", "zb\na;"] {
            let filled = filling.repeat(1500 / filling.len());
            for found in ["", "zq", "b", ";zq", "\nzq", "ZQ", "x", "json.x"] {
                let places =
                    (0..20).chain([63, 64, 65, 127, 128, 255, 256, 257]).chain((300..1500).step_by(61));
                texts.extend(places.map(|place| {
                    let (before, after) = filled.split_at(place);
                    format!("{before}{found}{after}")
                }));
                texts.push(format!("{filled}{found}"));
                let longer = filled.repeat(8);
                texts.extend((0..8).map(|nth| {
                    let (before, after) = longer.split_at(nth * 1_357);
                    format!("{before}{found}{after}")
                }));
            }
        }
        let mut matched = 0;
        for pattern in patterns.map(|pattern| Pattern::new(pattern).unwrap()) {
            for text in &texts {
                let found = pattern.find(text.as_bytes()).is_some();
                assert_eq!(pattern.is_match(text.as_bytes()), found, "{} in {text}", pattern.source());
                matched += usize::from(found);
            }
        }
        assert!(matched > 5_000 && matched < patterns.len() * texts.len() - 5_000, "{matched}");
    }
}
