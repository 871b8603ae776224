//! Patterns without look-around: an automaton built as it is walked answers whether a text matches,
//! which is nearly all that is ever asked; where and how it matches is the business of a slower
//! engine, compiled when first asked.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, OnceLock};

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::pool::Pool;
use regex_automata::{Input, meta};
use regex_syntax::hir::Hir;

use super::lanes::{self, LONG_BYTES};
use super::{MAX_COMPILED_BYTES, reason};

/// Most that one thread keeps of an automaton.
const CACHE_BYTES: usize = 2 << 20;
/// Caches that a text may fill, and bytes it must advance for each state built, before the slower
/// engine takes over: no text may make every byte cost a state.
const MAX_FILLED_CACHES: usize = 3;
const MIN_BYTES_PER_STATE: usize = 10;

type NewCache = Box<dyn Fn() -> Cache + Send + Sync + UnwindSafe + RefUnwindSafe>;

pub(super) struct Linear {
    automaton: Arc<DFA>,
    caches: Pool<Cache, NewCache>,
    /// `None` where it cannot be compiled, though the automaton could.
    full: OnceLock<Option<meta::Regex>>,
}

impl Linear {
    /// Compiles a syntax tree.
    ///
    /// # Errors
    /// One sentence: that it is too big, or what the engine says.
    pub(super) fn new(hir: &Hir) -> Result<Self, String> {
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
        let config = DFA::config()
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
        Ok(Self { automaton, caches, full: OnceLock::new() })
    }

    #[inline]
    pub(super) fn is_match(&self, text: &[u8], parse: impl FnOnce() -> Option<Hir>) -> bool {
        let mut cache = self.caches.get();
        if text.len() >= LONG_BYTES
            && let Some(found) = lanes::is_match(&self.automaton, &mut cache, text)
        {
            return found;
        }
        match self.automaton.try_search_fwd(&mut cache, &Input::new(text).earliest(true)) {
            Ok(found) => found.is_some(),
            // What cannot be decided counts as a match.
            Err(_) => self.full(parse).is_none_or(|full| full.is_match(text)),
        }
    }

    /// The engine that knows places; `parse` gives the syntax tree, where it is not compiled yet.
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

#[cfg(test)]
mod tests {
    use super::super::Pattern;

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
