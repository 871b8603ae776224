//! What a rule that matched does: to `TX`, to persistent collections, to the rest of the run.

use std::time::Duration;

use super::report::Hit;
use super::transaction::Transaction;
use crate::collections::{Lifetime, Update};
use crate::compile::program::{CollectionAction, Control, Link, Program, SetVariable};
use crate::data::Text;
use crate::data::number;
use crate::ir::{Change, CollectionKind};

impl Transaction {
    /// The non-disruptive actions of a link that matched.
    pub(super) fn act(&mut self, program: &Program, at: (usize, usize), link: &Link, hit: &mut Hit) {
        for action in &link.collections {
            self.collection_action(program, action, hit);
        }
        for (index, control) in link.controls.iter().enumerate() {
            match control {
                Control::RuleEngine(mode) => self.controls.engine = *mode,
                Control::RemoveRules(_) => self.controls.removed.push((at.0, at.1, index)),
                Control::RemoveTargets { .. } => self.controls.removed_targets.push((at.0, at.1, index)),
                Control::BodyProcessor(name) => {
                    self.controls.body_processor = Some(name.clone());
                    self.data.message.processor = self.data.buffers.add(name.as_bytes());
                    self.forget_message();
                }
                Control::ForceBodyVariable(on) => self.controls.force_body_variable = *on,
                Control::ResponseBodyAccess(on) => self.controls.response_body_access = *on,
            }
        }
    }

    fn collection_action(&mut self, program: &Program, action: &CollectionAction, hit: &mut Hit) {
        match action {
            CollectionAction::Set(set) => self.set_variable(program, set, hit),
            CollectionAction::Open { kind, key } => {
                let key = self.data.compose(|data, out| key.expand(data, out));
                match kind {
                    CollectionKind::Session => self.data.message.session_id = key,
                    CollectionKind::User => self.data.message.user_id = key,
                    _ => {}
                }
                if self.data.open.iter().any(|(open, _)| open == kind) {
                    return;
                }
                self.data.open.push((*kind, key));
                let mut found = Vec::new();
                program.collections.read(*kind, self.data.bytes(key), self.data.now, |name, value| {
                    found.push((name.to_vec(), value.to_vec()));
                });
                for (name, value) in found {
                    let entry = (*kind, self.data.buffers.add(&name), self.data.buffers.add(&value));
                    self.data.entries.push(entry);
                }
            }
            CollectionAction::Expire { kind, name, seconds } => {
                let name = self.data.compose(|data, out| name.expand(data, out));
                let seconds = self.data.compose(|data, out| seconds.expand(data, out));
                let seconds = u64::try_from(number(self.data.bytes(seconds))).unwrap_or(0);
                if let Some((_, key)) = self.data.open.iter().find(|(open, _)| open == kind) {
                    let update = Update::Expire(self.data.now.saturating_add(Duration::from_secs(seconds)));
                    let (key, name) = (self.data.bytes(*key), self.data.bytes(name));
                    program.collections.update(*kind, key, name, update, self.lifetime(program));
                }
            }
            CollectionAction::SetEnvironment { name, value } => {
                let name = self.data.compose(|data, out| name.expand(data, out));
                let value = self.data.compose(|data, out| value.expand(data, out));
                self.data.env.push((name, value));
            }
        }
    }

    fn lifetime(&self, program: &Program) -> Lifetime {
        Lifetime { now: self.data.now, ends: self.data.now.saturating_add(program.record_lifetime) }
    }

    /// `setvar` of a persistent collection; nothing if it was not opened.
    fn set_persistent(&mut self, program: &Program, set: &SetVariable, operand: Text, name: Text) {
        let Some((_, key)) = self.data.open.iter().find(|(open, _)| *open == set.collection).copied() else {
            return;
        };
        let update = Update::Change(set.change, self.data.bytes(operand));
        let (key, entry) = (self.data.bytes(key), self.data.bytes(name));
        let after = program.collections.update(set.collection, key, entry, update, self.lifetime(program));
        let entries = std::mem::take(&mut self.data.entries);
        self.data.entries = entries
            .into_iter()
            .filter(|(kind, known, _)| {
                *kind != set.collection
                    || !self.data.bytes(*known).eq_ignore_ascii_case(self.data.bytes(name))
            })
            .collect();
        if let Some(value) = after {
            let value = self.data.buffers.add(&value);
            self.data.entries.push((set.collection, name, value));
        }
    }

    fn set_variable(&mut self, program: &Program, set: &SetVariable, hit: &mut Hit) {
        let operand = self.data.compose(|data, out| set.value.expand(data, out));
        let name = match set.index {
            Some(_) => Text::EMPTY,
            None => self.data.compose(|data, out| set.name.expand(data, out)),
        };
        if set.collection != CollectionKind::Tx {
            return self.set_persistent(program, set, operand, name);
        }
        let index = set.index.or_else(|| program.names.find(self.data.bytes(name)));
        let dynamic = self
            .data
            .tx_dynamic
            .iter()
            .position(|(known, _)| self.data.bytes(*known).eq_ignore_ascii_case(self.data.bytes(name)));
        let before = match (index, dynamic) {
            (Some(index), _) => number(self.data.tx_value(index)),
            (None, Some(at)) => {
                self.data.tx_dynamic.get(at).map_or(0, |(_, value)| number(self.data.bytes(*value)))
            }
            (None, None) => 0,
        };
        let change = number(self.data.bytes(operand));
        if let (Some(level), Change::Add) = (set.scores_level, set.change) {
            if let Some(score) = self.verdict.scores.get_mut(usize::from(level.saturating_sub(1))) {
                *score = score.saturating_add(change);
            }
            hit.score = hit.score.saturating_add(change);
        }
        let after = match set.change {
            Change::Set => Some(operand),
            Change::Unset => None,
            Change::Add => Some(self.data.buffers.add_number(before.saturating_add(change))),
            Change::Subtract => Some(self.data.buffers.add_number(before.saturating_sub(change))),
        };
        match (index, dynamic, after) {
            (Some(index), ..) => self.data.set_tx(index, after),
            (None, Some(at), None) => {
                self.data.tx_dynamic.swap_remove(at);
            }
            (None, Some(at), Some(value)) => {
                self.data.tx_dynamic.get_mut(at).into_iter().for_each(|entry| entry.1 = value)
            }
            (None, None, Some(value)) => self.data.tx_dynamic.push((name, value)),
            (None, None, None) => {}
        }
    }
}
