//! The values of targets, and the same after transformations: each is found once, and each step
//! taken once.

use std::ops::Range;

use super::program::{Program, Step, Target, View};
use super::summary::Seen;
use super::text::Text;
use super::transaction::{Transaction, Value};
use crate::variables::Changes;
use pattern::ByteSet;

impl Transaction {
    /// The values of a target, as a range of `values`.
    #[inline]
    pub(super) fn find(&mut self, program: &Program, index: usize) -> Range<usize> {
        match self.found.get(index).copied().flatten() {
            Some((start, end)) => start as usize..end as usize,
            None => self.look_up(program, index),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, program: &Program, index: usize) -> Range<usize> {
        let start = self.values.len();
        let Some(target) = program.targets.get(index) else { return start..start };
        // Most requests have few of the fields that rules know.
        let is_absent = target.header.is_some_and(|name| !self.facts.header_names.may_have(name));
        match target.tx {
            Some(tx) => self.find_tx(target, tx),
            None if is_absent && target.count => self.push_count(target, 0),
            None if is_absent => {}
            None => self.find_all(target),
        }
        let end = self.values.len();
        if target.variable.changes != Changes::WithRules
            && let Some(slot) = self.found.get_mut(index)
        {
            *slot = u32::try_from(start).ok().zip(u32::try_from(end).ok());
        }
        start..end
    }

    fn find_tx(&mut self, target: &Target, tx: usize) {
        let text = self.tx.get(tx).copied().flatten();
        if target.count {
            self.push_count(target, usize::from(text.is_some()));
        } else if let Some(text) = text {
            let name = self.tx_names.get(tx).copied().unwrap_or(Text::EMPTY);
            self.push_value(target, name, text);
        }
    }

    fn find_all(&mut self, target: &Target) {
        let mut entries = std::mem::take(&mut self.entries_found);
        entries.clear();
        if let Some(taken) = &target.tx_taken {
            let is_taken = |key| target.takes(self.bytes(key));
            self.visit_tx_of(taken, is_taken, &mut |key, text| entries.push((key, text)));
        } else {
            (target.variable.values)(self, &mut |key, text| {
                if target.takes(self.bytes(key)) {
                    entries.push((key, text));
                }
            });
        }
        if target.count {
            self.push_count(target, entries.len());
        } else {
            for (key, text) in &entries {
                self.push_value(target, *key, *text);
            }
        }
        self.entries_found = entries;
    }

    fn push_count(&mut self, target: &Target, count: usize) {
        let text = self.buffers.add_count(count);
        self.push_value(target, Text::EMPTY, text);
    }

    fn push_value(&mut self, target: &Target, key: Text, text: Text) {
        let seen = if target.variable.changes == Changes::WithRules {
            self.push_seen(text)
        } else if let Some(known) = self.texts.get(&text) {
            *known
        } else {
            let seen = self.push_seen(text);
            self.texts.insert(text, seen);
            seen
        };
        self.values.push(Value { variable: target.variable, key, seen });
    }

    /// Index in `seen` of a value as it came.
    pub(super) fn raw(&self, value: usize) -> usize {
        self.values.get(value).map_or(0, |value| value.seen)
    }

    /// Index in `seen` of an entry under a view.
    pub(super) fn under(&mut self, program: &Program, seen: usize, view: &View) -> usize {
        if !self.touches(view.touches.as_ref(), seen) {
            return seen;
        }
        view.steps.iter().fold(seen, |seen, step| self.step(program, seen, step))
    }

    /// Index in `seen` of an entry after a transformation.
    pub(super) fn step(&mut self, program: &Program, before: usize, step: &Step) -> usize {
        if !self.touches(step.touches.as_ref(), before) {
            return before;
        }
        let slot = before * program.steps + step.number;
        let known = self.steps.get(slot).copied().unwrap_or(0);
        if known > 0 {
            return known as usize - 1;
        }
        let text = self.seen.get(before).map_or(Text::EMPTY, |entry| entry.text);
        let after = self.buffers.transform(text, step.apply);
        let index = if after == text { before } else { self.push_seen(after) };
        if self.steps.len() <= slot {
            self.steps.resize(self.seen.len() * program.steps, 0);
        }
        if let Some(known) = self.steps.get_mut(slot) {
            *known = known_as(index);
        }
        index
    }

    /// Whether an entry holds a byte that is touched; `None` stands for any, and for none.
    fn touches(&self, touches: Option<&ByteSet>, seen: usize) -> bool {
        touches.is_none_or(|touches| self.seen.get(seen).is_none_or(|entry| entry.bytes.intersects(touches)))
    }

    fn push_seen(&mut self, text: Text) -> usize {
        let bytes = ByteSet::of_text(self.buffers.get(text));
        self.seen.push(Seen::new(text, bytes));
        self.seen.len() - 1
    }

    /// Forgets values of the moment, which are looked up anew the next time.
    pub(super) fn forget_moment(&mut self, program: &Program, values: usize, seen: usize) {
        self.values.truncate(values);
        self.seen.truncate(seen);
        self.steps.truncate(seen * program.steps);
    }
}

/// An index as `steps` keeps it: 0 stands for none.
fn known_as(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(0)
}
