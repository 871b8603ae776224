//! Patterns without look-around: an automaton built as it is walked answers whether a text matches,
//! which is nearly all that is ever asked; where and how it matches is the business of a slower
//! engine, compiled when first asked.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, OnceLock};

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::pool::Pool;
use regex_automata::{Anchored, HalfMatch, Input, MatchError, meta};
use regex_syntax::hir::Hir;

use super::{ByteSet, MAX_COMPILED_BYTES, first, reason};

/// Most that one thread keeps of an automaton.
const CACHE_BYTES: usize = 1 << 20;
/// Caches that a text may fill, and bytes it must advance for each state built, before the slower
/// engine takes over: no text may make every byte cost a state.
const MAX_FILLED_CACHES: usize = 3;
const MIN_BYTES_PER_STATE: usize = 10;

/// Texts of this length are searched only where a match may begin.
const LONG_BYTES: usize = 512;

/// Bytes that are looked at together.
const CHUNK_BYTES: usize = 32;

type NewCache = Box<dyn Fn() -> Cache + Send + Sync + UnwindSafe + RefUnwindSafe>;

pub(super) struct Linear {
    /// For each byte 1 if a match may begin with it that does not begin where the text does; `None` where
    /// such a match may begin with any.
    beyond_start: Option<Box<[u8; 256]>>,
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
        Ok(Self {
            beyond_start: table(first::bytes_beyond_start(hir)),
            automaton,
            caches,
            full: OnceLock::new(),
        })
    }

    #[inline]
    pub(super) fn is_match(&self, text: &[u8], parse: impl FnOnce() -> Option<Hir>) -> bool {
        let mut cache = self.caches.get();
        let input = Input::new(text).earliest(true);
        let found = match self.beyond_start.as_deref().filter(|_| text.len() >= LONG_BYTES) {
            Some(beyond_start) => self.search_long(&mut cache, text, &input, beyond_start),
            None => self.automaton.try_search_fwd(&mut cache, &input),
        };
        match found {
            Ok(found) => found.is_some(),
            // What cannot be decided counts as a match.
            Err(_) => self.full(parse).is_none_or(|full| full.is_match(text)),
        }
    }

    /// Searches where the text begins, and from the first byte on with which a match elsewhere may begin.
    fn search_long(
        &self,
        cache: &mut Cache,
        text: &[u8],
        input: &Input<'_>,
        beyond_start: &[u8; 256],
    ) -> Result<Option<HalfMatch>, MatchError> {
        let start = input.clone().anchored(Anchored::Yes);
        if let Some(found) = self.automaton.try_search_fwd(cache, &start)? {
            return Ok(Some(found));
        }
        let begins = |byte: &u8| beyond_start.get(usize::from(*byte)).copied().unwrap_or(0);
        // Several bytes to a branch.
        let chunks = text.chunks(CHUNK_BYTES);
        let passed = chunks.take_while(|chunk| chunk.iter().fold(0, |any, byte| any | begins(byte)) == 0);
        let from = (passed.count() * CHUNK_BYTES).max(1);
        if from >= text.len() {
            return Ok(None);
        }
        self.automaton.try_search_fwd(cache, &input.clone().range(from..))
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

fn table(set: ByteSet) -> Option<Box<[u8; 256]>> {
    (set != ByteSet::ALL).then(|| {
        let mut table = Box::new([0; 256]);
        for (byte, entry) in (0..=u8::MAX).zip(table.iter_mut()) {
            *entry = u8::from(set.has(byte));
        }
        table
    })
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
            "(?:^|[;|])zq",
            "[^a]q",
            "q{0,2}z",
            "^$",
            "(?:^z)*q",
            "zq|^a*$",
            "(?i)ZQ",
            "\\Bq",
        ];
        let mut texts = Vec::new();
        for filling in ["a", "a ", "\n"] {
            let filled = filling.repeat(600);
            for found in ["", "zq", "b", ";zq", "\nzq", "ZQ", "x", "json.x"] {
                texts.extend([
                    format!("{found}{filled}"),
                    format!("{filled}{found}"),
                    format!("{filled}{found}{filled}"),
                ]);
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
        assert!(matched > 100 && matched < patterns.len() * texts.len() - 100, "{matched}");
    }
}
