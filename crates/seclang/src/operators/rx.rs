//! The value matches the pattern; PCRE's meaning, on bytes.

use std::sync::Arc;

use parking_lot::Mutex;

use super::patterns::Searcher;
use super::{Argument, Compiled, Definition, Example, Expansion, Found, Pattern, Prefilter, Test};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "rx",
    summary: "The value matches the pattern; PCRE's meaning, on bytes.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "^a.b$", input: b"a\nb", matches: true },
        Example { argument: "(?i)SELECT", input: b"select", matches: true },
        Example { argument: "^a$", input: b"ab", matches: false },
    ],
};

struct Rx(Arc<Searcher>);

/// A pattern with macros: compiled for the values it meets, the last of them kept.
struct Expanded {
    text: Expansion,
    last: Mutex<Option<Arc<Pattern>>>,
}

pub(super) fn compile(argument: &mut Argument<'_>) -> Compiled {
    if let Ok(text) = argument.expansion()
        && text.literal().is_none()
    {
        return Ok(Box::new(Expanded { text, last: Mutex::new(None) }));
    }
    Ok(Box::new(Rx(argument.patterns.pattern(argument.text)?)))
}

impl Expanded {
    /// `None` if the expanded text is no pattern: then nothing matches it.
    fn pattern(&self, data: &Data) -> Option<Arc<Pattern>> {
        self.text.with(data, |text| {
            let text = std::str::from_utf8(text).ok()?;
            let mut last = self.last.lock();
            if let Some(pattern) = last.as_ref().filter(|pattern| pattern.source() == text) {
                return Some(Arc::clone(pattern));
            }
            let pattern = Arc::new(Pattern::new(text).ok()?);
            *last = Some(Arc::clone(&pattern));
            Some(pattern)
        })
    }
}

impl Test for Expanded {
    fn is_match(&self, input: &[u8], data: &Data) -> bool {
        self.pattern(data).is_some_and(|pattern| pattern.is_match(input))
    }

    fn locate(&self, input: &[u8], data: &Data) -> Found {
        let groups = self.pattern(data).and_then(|pattern| pattern.groups(input));
        groups.map_or_else(|| Found::whole(input), Found::groups)
    }
}

impl Test for Rx {
    fn is_match(&self, input: &[u8], _: &Data) -> bool {
        self.0.pattern.is_match(input)
    }

    fn literals(&self) -> Option<&[Vec<u8>]> {
        self.0.literals.as_deref()
    }

    fn prefilter(&self) -> Option<&Prefilter> {
        Some(&self.0.prefilter)
    }

    fn locate(&self, input: &[u8], _: &Data) -> Found {
        self.0.pattern.groups(input).map_or_else(|| Found::whole(input), Found::groups)
    }
}
