//! Patterns that are compiled when they are first asked: of many rules few ever are, and each compiled
//! pattern takes some hundred kilobytes.

use std::sync::OnceLock;

use super::descent::Descent;
use super::{ByteSet, Pattern, Span, first, parse, rewrite};

/// A pattern whose syntax is known to be sound.
#[derive(Debug)]
pub struct LazyPattern {
    source: String,
    first: ByteSet,
    /// How many groups it has.
    groups: usize,
    /// Answers in the place of the compiled pattern if it can.
    pub(super) descent: Option<Descent>,
    /// `None` if it is too big.
    compiled: OnceLock<Option<Pattern>>,
}

impl LazyPattern {
    /// Reads a pattern with PCRE's meaning.
    ///
    /// # Errors
    /// One sentence: why it is no pattern.
    pub fn new(source: &str) -> Result<Self, String> {
        let source = source.to_owned();
        let compiled = OnceLock::new();
        match parse(&rewrite(&source)) {
            Ok(hir) => {
                let (first, descent) = (first::bytes(&hir), Descent::new(&hir));
                let groups = hir.properties().explicit_captures_len();
                Ok(Self { source, first, groups, descent, compiled })
            }
            // One with look-around is compiled to know that it can be.
            Err(_) => {
                let groups = Pattern::new(&source)?.groups_len();
                Ok(Self { source, first: ByteSet::ALL, groups, descent: None, compiled })
            }
        }
    }

    /// The text it was made from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The bytes that a match may begin with.
    pub fn first_bytes(&self) -> ByteSet {
        self.first
    }

    /// The pattern, compiled; `None` if it is too big to be.
    #[inline]
    pub fn get(&self) -> Option<&Pattern> {
        self.compiled.get_or_init(|| Pattern::new(&self.source).ok()).as_ref()
    }

    /// How many groups it has, the whole match not counted.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// The match that begins at `at`, and its first group; `None` too if the pattern is too big.
    #[inline]
    pub fn match_at(&self, text: &[u8], at: usize) -> Option<(Span, Option<Span>)> {
        match &self.descent {
            Some(descent) => descent.match_at(text, at),
            None => self.compiled_match_at(text, at),
        }
    }

    pub(super) fn compiled_match_at(&self, text: &[u8], at: usize) -> Option<(Span, Option<Span>)> {
        let pattern = self.get()?;
        let span = pattern.match_at(text, at)?;
        // The first match from there on is the one that begins there.
        let group = || pattern.groups_at(text, at)?.get(1).copied().flatten();
        Some((span, (self.groups > 0).then(group).flatten()))
    }

    /// Gives back what compiling took, until it is asked again.
    pub fn forget(&mut self) {
        self.compiled.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiled_when_asked_and_forgotten() {
        let mut pattern = LazyPattern::new("^a(?:b|c)").unwrap();
        assert!(pattern.compiled.get().is_none() && pattern.first_bytes().has(b'a'));
        for _ in 0..2 {
            assert!(pattern.get().unwrap().is_match(b"ac") && pattern.compiled.get().is_some());
            pattern.forget();
            assert!(pattern.compiled.get().is_none());
        }
        assert!(LazyPattern::new("(?=a)b").unwrap().get().is_some());
        assert!(LazyPattern::new("(").is_err());
    }
}
