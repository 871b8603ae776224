//! Patterns that are compiled when they are first asked: of many rules few ever are, and each compiled
//! pattern takes some hundred kilobytes.

use std::sync::OnceLock;

use super::{ByteSet, Pattern, first, parse, rewrite};

/// A pattern whose syntax is known to be sound.
#[derive(Debug)]
pub struct LazyPattern {
    source: String,
    first: ByteSet,
    /// `None` where it is too big.
    compiled: OnceLock<Option<Pattern>>,
}

impl LazyPattern {
    /// Reads a pattern with PCRE's meaning.
    ///
    /// # Errors
    /// One sentence: why it is no pattern.
    pub fn new(source: &str) -> Result<Self, String> {
        let lazy = |first| Self { source: source.to_owned(), first, compiled: OnceLock::new() };
        match parse(&rewrite(source)) {
            Ok(hir) => Ok(lazy(first::bytes(&hir))),
            // One with look-around is compiled to know that it can be.
            Err(_) => Pattern::new(source).map(|_| lazy(ByteSet::ALL)),
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

    /// The pattern, compiled; `None` where it is too big to be.
    #[inline]
    pub fn get(&self) -> Option<&Pattern> {
        self.compiled.get_or_init(|| Pattern::new(&self.source).ok()).as_ref()
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
