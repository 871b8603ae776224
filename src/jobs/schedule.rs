//! What is due when, kept in step with resources that change, and the tasks that work on it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use imbl::OrdMap;
use imbl::ordmap::DiffItem;
use model::Declared;
use tokio::task::{Id, JoinSet};

use crate::events::Events;

/// Resources by when they are due. One change of many is found without a look at the others.
#[derive(Debug)]
pub(super) struct DueResources<K: Ord, T> {
    known: OrdMap<K, Arc<Declared<T>>>,
    due: BTreeSet<(u64, K)>,
    /// Those that are worked on.
    under_way: HashSet<K>,
    due_at: fn(&T) -> u64,
}

impl<K: Ord + Copy + Hash, T: PartialEq> DueResources<K, T> {
    pub(super) fn new(due_at: fn(&T) -> u64) -> Self {
        Self { known: OrdMap::new(), due: BTreeSet::new(), under_way: HashSet::new(), due_at }
    }

    /// Takes over what has changed.
    pub(super) fn follow(&mut self, resources: &OrdMap<K, Arc<Declared<T>>>) {
        let due_at = |one: &Arc<Declared<T>>| (self.due_at)(one);
        for change in self.known.diff(resources) {
            match change {
                DiffItem::Add(id, added) => {
                    self.due.insert((due_at(added), *id));
                }
                DiffItem::Update { old: (id, old), new: (_, new) } => {
                    self.due.remove(&(due_at(old), *id));
                    self.due.insert((due_at(new), *id));
                }
                DiffItem::Remove(id, removed) => {
                    self.due.remove(&(due_at(removed), *id));
                }
            }
        }
        self.known = resources.clone();
    }

    /// Takes up to `most` that are due, which are under way from then on.
    pub(super) fn take(&mut self, now: u64, most: usize) -> Vec<Arc<Declared<T>>> {
        let mut taken = Vec::new();
        for (at, id) in &self.due {
            if *at > now || taken.len() >= most {
                break;
            }
            if !self.under_way.contains(id) {
                taken.extend(self.known.get(id).map(|one| (*id, Arc::clone(one))));
            }
        }
        self.under_way.extend(taken.iter().map(|(id, _)| *id));
        taken.into_iter().map(|(_, one)| one).collect()
    }

    /// One is worked on no more.
    pub(super) fn done(&mut self, id: &K) {
        self.under_way.remove(id);
    }

    pub(super) fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Shows how many are under way, and how many are kept for later.
    pub(super) fn measure(&self, kind: &str, events: &Events) {
        let gauge = |state: &str, count: usize| {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            events.metrics().jobs.with_label_values(&[kind, state]).set(count);
        };
        gauge("under_way", self.under_way.len());
        gauge("scheduled", self.due.len().saturating_sub(self.under_way.len()));
    }
}

/// Tasks, each for one id.
#[derive(Debug)]
pub(super) struct TasksById<K, T> {
    tasks: JoinSet<T>,
    ids: HashMap<Id, K>,
}

impl<K, T: Send + 'static> Default for TasksById<K, T> {
    fn default() -> Self {
        Self { tasks: JoinSet::new(), ids: HashMap::new() }
    }
}

impl<K, T: Send + 'static> TasksById<K, T> {
    pub(super) fn spawn(&mut self, id: K, task: impl Future<Output = T> + Send + 'static) {
        self.ids.insert(self.tasks.spawn(task).id(), id);
    }

    /// Takes those that have ended, with what each returned; `None` if it broke off.
    pub(super) fn ended(&mut self) -> Vec<(K, Option<T>)> {
        let mut ended = Vec::new();
        while let Some(joined) = self.tasks.try_join_next_with_id() {
            let (task, outcome) = match joined {
                Ok((task, outcome)) => (task, Some(outcome)),
                Err(error) => (error.id(), None),
            };
            ended.extend(self.ids.remove(&task).map(|id| (id, outcome)));
        }
        ended
    }
}
