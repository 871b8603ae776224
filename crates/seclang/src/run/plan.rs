//! A program under the settings of one zone: what runs, what it starts from, what it may do.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::fold::{Folded, fold};
use super::schedule::ScheduledRule;
use crate::compile::program::Program;
use crate::data::{Buffers, Text};
use crate::ir::EngineMode;

/// What a zone changes about a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PlanSettings {
    /// Ids of rules that do not run.
    pub disabled: Vec<u64>,
    /// `TX` entries that stand before the first rule runs.
    pub variables: Vec<(String, String)>,
    pub actions: Vec<ActionOverride>,
    /// Whether matches are only reported, whatever rules say.
    pub only_reports: bool,
}

/// Another action for one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ActionOverride {
    pub rule: u64,
    /// Whether a match refuses the request, or is only reported.
    pub refuses: bool,
}

/// A program with its settings applied. Disabled rules are not in it, nor what comes out the same for
/// every request, so they cost nothing.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) program: Arc<Program>,
    /// The roots that run, by phase.
    pub(super) phases: [Vec<ScheduledRule>; 5],
    /// Root index to whether it refuses, sorted by index.
    pub(super) refuses: Vec<(usize, bool)>,
    pub(super) engine: EngineMode,
    pub(super) rules: usize,
    /// What every transaction's arena begins with: the names of `TX`, and the entries that it has.
    pub(super) arena: Vec<u8>,
    pub(super) name_texts: Vec<Text>,
    /// The entries of `TX` that every transaction begins with, by the index of their names.
    pub(super) entries: Vec<Option<Text>>,
}

impl Plan {
    pub fn new(program: Arc<Program>, settings: &PlanSettings) -> Self {
        let plain = Arc::new(Self::plain(program, settings));
        if plain.program.roots.is_empty() {
            return Self::clone(&plain);
        }
        let Folded { phases, entries } = fold(&plain);
        let phases = phases.map(|roots| ScheduledRule::of_roots(&plain.program, roots));
        let plan = Self { phases, ..Self::clone(&plain) };
        plan.beginning_with(&entries)
    }

    /// All that the settings leave of the rules.
    fn plain(program: Arc<Program>, settings: &PlanSettings) -> Self {
        let enabled = |index: &usize| {
            program.roots.get(*index).is_some_and(|root| !settings.disabled.contains(&root.id))
        };
        let phases: [Vec<ScheduledRule>; 5] = std::array::from_fn(|phase| {
            let roots = program.phases.get(phase).map_or(&[][..], Vec::as_slice);
            ScheduledRule::of_roots(&program, roots.iter().copied().filter(enabled))
        });
        let mut entries: Vec<Option<Box<[u8]>>> = vec![None; program.names.len()];
        for (name, value) in &settings.variables {
            // A name that no rule mentions would never be read.
            let entry = program.names.find(name.as_bytes()).and_then(|index| entries.get_mut(index));
            entry.into_iter().for_each(|entry| *entry = Some(value.as_bytes().into()));
        }
        let refuses = settings
            .actions
            .iter()
            .filter_map(|action| {
                program.roots.iter().position(|root| root.id == action.rule).map(|at| (at, action.refuses))
            })
            .collect();
        let plan = Self {
            rules: phases.iter().map(Vec::len).sum(),
            phases,
            refuses,
            engine: match program.engine {
                EngineMode::On if settings.only_reports => EngineMode::DetectionOnly,
                engine => engine,
            },
            arena: Vec::new(),
            name_texts: Vec::new(),
            entries: Vec::new(),
            program,
        };
        plan.beginning_with(&entries)
    }

    /// The plan whose transactions begin with these entries of `TX`.
    fn beginning_with(self, entries: &[Option<Box<[u8]>>]) -> Self {
        let names = &self.program.names;
        let mut arena = Buffers::default();
        let name_texts = (0..names.len()).map(|index| arena.add(names.name(index).as_bytes())).collect();
        let entries = entries.iter().map(|entry| entry.as_ref().map(|value| arena.add(value))).collect();
        Self { name_texts, entries, arena: arena.into_arena(), ..self }
    }

    /// How many rules run.
    pub fn rules(&self) -> usize {
        self.rules
    }

    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The block lists that rules which run ask whether they name the client, each once.
    pub fn block_lists(&self) -> Vec<Arc<str>> {
        let roots = self.phases.iter().flatten().filter_map(|rule| self.program.roots.get(rule.root));
        let tests = roots.flat_map(|root| &root.links).filter_map(|link| link.test.as_ref());
        let lists: BTreeSet<_> = tests.filter_map(|test| test.block_list()).cloned().collect();
        lists.into_iter().collect()
    }

    /// Whether the rule at this index refuses the request when it matches.
    pub(super) fn refuses(&self, root: usize) -> bool {
        let own = || self.program.roots.get(root).is_some_and(crate::compile::program::Root::is_disruptive);
        self.refuses.iter().find(|(index, _)| *index == root).map_or_else(own, |(_, refuses)| *refuses)
    }
}
