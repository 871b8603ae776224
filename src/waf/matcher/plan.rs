//! A program under the settings of one zone: what runs, what it starts from, what it may do.

use std::sync::Arc;

use super::program::Program;
use super::text::{Buffers, Text};
use crate::waf::ir::EngineMode;

/// What a zone changes about a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PlanSettings {
    /// Ids of rules that do not run.
    pub disabled: Vec<u64>,
    /// `TX` entries that stand before the first rule runs.
    pub variables: Vec<(String, String)>,
    pub actions: Vec<ActionOverride>,
}

/// Another action for one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ActionOverride {
    pub rule: u64,
    /// Whether a match refuses the request, or is only reported.
    pub refuses: bool,
}

/// A program with its settings applied. Disabled rules are not in it, so they cost nothing.
#[derive(Debug)]
pub struct Plan {
    pub(super) program: Arc<Program>,
    pub(super) phases: [Vec<usize>; 5],
    pub(super) variables: Vec<(usize, Box<[u8]>)>,
    /// Root index to whether it refuses, sorted by index.
    pub(super) refuses: Vec<(usize, bool)>,
    pub(super) engine: EngineMode,
    pub(super) rules: usize,
    /// What every transaction's arena begins with: the names of `TX`.
    pub(super) names: Vec<u8>,
    pub(super) name_texts: Vec<Text>,
}

impl Plan {
    pub fn new(program: Arc<Program>, settings: &PlanSettings) -> Self {
        let enabled = |index: &usize| {
            program.roots.get(*index).is_some_and(|root| !settings.disabled.contains(&root.id))
        };
        let phases: [Vec<usize>; 5] = std::array::from_fn(|phase| {
            program
                .phases
                .get(phase)
                .map_or_else(Vec::new, |roots| roots.iter().copied().filter(enabled).collect())
        });
        let variables = settings
            .variables
            .iter()
            // A name that no rule mentions would never be read.
            .filter_map(|(name, value)| {
                program.names.find(name.as_bytes()).map(|index| (index, value.as_bytes().into()))
            })
            .collect();
        let refuses = settings
            .actions
            .iter()
            .filter_map(|action| {
                program.roots.iter().position(|root| root.id == action.rule).map(|at| (at, action.refuses))
            })
            .collect();
        let rules = phases.iter().map(Vec::len).sum();
        let mut names = Buffers::default();
        let name_texts =
            (0..program.names.len()).map(|index| names.add(program.names.name(index).as_bytes())).collect();
        let names = names.into_arena();
        Self { phases, variables, refuses, engine: program.engine, rules, names, name_texts, program }
    }

    /// How many rules run.
    pub fn rules(&self) -> usize {
        self.rules
    }

    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Whether the rule at this index refuses the request when it matches.
    pub(super) fn refuses(&self, root: usize) -> bool {
        let own = || self.program.roots.get(root).is_some_and(super::program::Root::is_disruptive);
        self.refuses.iter().find(|(index, _)| *index == root).map_or_else(own, |(_, refuses)| *refuses)
    }
}
