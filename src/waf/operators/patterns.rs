//! The patterns of a rule set, each compiled once, before anyone asks for it and on every core:
//! most of the time that loading takes goes here.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::{Pattern, Prefilter};

/// A pattern with what must be in a value for it to match.
#[derive(Debug)]
pub struct Searcher {
    pub(super) pattern: Pattern,
    pub(super) prefilter: Prefilter,
}

/// Compiled patterns by their text.
#[derive(Clone, Debug, Default)]
pub struct Patterns(HashMap<String, Result<Arc<Searcher>, String>>);

impl Patterns {
    /// Compiles each text once.
    pub fn compile<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let texts: Vec<&str> = texts.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        // Interleaved, since long patterns stand together.
        let share = |worker: usize| texts.iter().skip(worker).step_by(workers).copied();
        let compiled = std::thread::scope(|scope| {
            let others: Vec<_> = (1..workers)
                .map(|worker| scope.spawn(move || share(worker).map(one).collect::<Vec<_>>()))
                .collect();
            let mut compiled: Vec<_> = share(0).map(one).collect();
            // A worker that panicked is missed below: its patterns are compiled when they are asked for.
            compiled.extend(others.into_iter().filter_map(|worker| worker.join().ok()).flatten());
            compiled
        });
        Self(compiled.into_iter().collect())
    }

    /// The pattern of a text.
    ///
    /// # Errors
    /// One sentence: why it cannot be compiled.
    pub(super) fn get(&self, text: &str) -> Result<Arc<Searcher>, String> {
        self.0.get(text).cloned().unwrap_or_else(|| one(text).1)
    }

    /// The texts that run on the step-limited backtracker.
    pub fn backtracking(&self) -> impl Iterator<Item = &str> {
        let slow =
            self.0.iter().filter(|(_, searcher)| searcher.as_ref().is_ok_and(|s| s.pattern.backtracks()));
        slow.map(|(text, _)| text.as_str())
    }
}

fn one(text: &str) -> (String, Result<Arc<Searcher>, String>) {
    let searcher = Pattern::new(text).map(|pattern| {
        let prefilter = Prefilter::of_pattern(&pattern);
        Arc::new(Searcher { pattern, prefilter })
    });
    (text.to_owned(), searcher)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_there_with_its_mistake_or_its_pattern() {
        let texts: Vec<String> =
            (0..50).map(|n| format!("a{n}")).chain(["(".to_owned(), "a(?!b)".to_owned()]).collect();
        let patterns = Patterns::compile(texts.iter().map(String::as_str));
        assert_eq!(patterns.0.len(), 52);
        assert!(patterns.get("a7").unwrap().pattern.is_match(b"xa7"));
        assert_eq!(patterns.get("(").unwrap_err(), "unclosed group");
        assert_eq!(patterns.backtracking().collect::<Vec<_>>(), ["a(?!b)"]);
        assert!(patterns.get("never seen").is_ok());
    }
}
