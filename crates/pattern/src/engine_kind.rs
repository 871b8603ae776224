//! Which engine answers for a pattern, as `check --explain` says it.

use super::{Engine, LazyPattern, Pattern};

/// What answers the first question about a pattern: for [`Pattern`], whether a text matches; for [`LazyPattern`],
/// whether a match begins at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EngineKind {
    Automaton,
    /// As above; texts that need too many states are searched for each long branch.
    AutomatonOfBranches,
    SyntaxTree,
    Regex,
    Backtracker,
}

impl EngineKind {
    pub const ALL: [Self; 5] =
        [Self::Automaton, Self::AutomatonOfBranches, Self::SyntaxTree, Self::Regex, Self::Backtracker];

    /// One phrase: the engine and its bound.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Automaton => "automaton built as it is walked, one step a byte",
            Self::AutomatonOfBranches => {
                "automaton built as it is walked; apart for each branch with a long repetition if a text needs too \
                 many states"
            }
            Self::SyntaxTree => "walk over the syntax tree, nothing compiled",
            Self::Regex => "regex-automata, compiled on first use",
            Self::Backtracker => {
                "backtracker with a limit of steps; a text that exhausts it counts as matched"
            }
        }
    }
}

impl Pattern {
    /// The engine that says whether a text matches.
    pub fn engine_kind(&self) -> EngineKind {
        match &self.engine {
            Engine::Linear(linear) if linear.has_parts() => EngineKind::AutomatonOfBranches,
            Engine::Linear(_) => EngineKind::Automaton,
            Engine::Backtracking(_) => EngineKind::Backtracker,
        }
    }
}

impl LazyPattern {
    /// The engine that says whether a match begins at a place. Compiles the pattern if that decides.
    pub fn engine_kind(&self) -> EngineKind {
        match &self.descent {
            Some(_) => EngineKind::SyntaxTree,
            None if self.get().is_some_and(Pattern::backtracks) => EngineKind::Backtracker,
            None => EngineKind::Regex,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_engine_says_when_it_runs() {
        let of = |source| Pattern::new(source).unwrap().engine_kind();
        let at_a_place = |source| LazyPattern::new(source).unwrap().engine_kind();
        let found = [
            of("union select"),
            of("<[^>]{0,40}on|script"),
            at_a_place("AKIA[0-9A-Z]{16}"),
            at_a_place("(?:a|ab)(?:c|bcd)*x"),
            of("a(?!b)"),
        ];
        assert_eq!(found, EngineKind::ALL);
        assert_eq!(at_a_place("a(?!b)"), EngineKind::Backtracker);
        let mut phrases = EngineKind::ALL.map(EngineKind::describe).to_vec();
        phrases.sort_unstable();
        phrases.dedup();
        assert_eq!(phrases.len(), EngineKind::ALL.len());
    }
}
