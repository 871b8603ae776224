//! The rules of a plan as they take their turns.

use crate::compile::program::Program;

/// A rule, with what its first link asks of values. Small, and in a list without gaps, for every request
/// reads all of them, and most are asked no more.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScheduledRule {
    pub(super) id: u64,
    /// Index in the program's roots.
    pub(super) root: usize,
    /// Index of the group that the link looks at; `None` if it looks at nothing, or at values that
    /// change as rules run.
    pub(super) group: Option<u32>,
    /// The set of literals that a value must hold one of, if there is such a set.
    pub(super) literals: Option<u32>,
    pub(super) negated: bool,
}

impl ScheduledRule {
    pub(super) fn of_roots(program: &Program, roots: impl IntoIterator<Item = usize>) -> Vec<Self> {
        let of = |index: usize| {
            let root = program.roots.get(index)?;
            let link = root.links.first();
            Some(Self {
                id: root.id,
                root: index,
                // A group whose index does not fit is not asked: the link does.
                group: link.and_then(|link| link.group).and_then(|group| u32::try_from(group).ok()),
                literals: link.and_then(|link| link.precondition.literals),
                negated: link.is_some_and(|link| link.negated),
            })
        };
        roots.into_iter().filter_map(of).collect()
    }
}
