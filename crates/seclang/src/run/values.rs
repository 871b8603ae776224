//! The values of targets, and the same after transformations: each is found once, and each step
//! taken once.

use std::ops::Range;

use super::summary::CachedValue;
use super::transaction::{Transaction, Value};
use crate::compile::program::{Pipeline, Program, Step, Target};
use crate::data::Text;
use crate::variables::Changes;
use pattern::ByteSet;

impl Transaction {
    /// The values of a target, as a range of `values`.
    #[inline]
    pub(super) fn find(&mut self, program: &Program, index: usize) -> Range<usize> {
        match self.cache.found.get(index).copied().flatten() {
            Some((start, end)) => start as usize..end as usize,
            None => self.look_up(program, index),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, program: &Program, index: usize) -> Range<usize> {
        let start = self.cache.values.len();
        let Some(target) = program.targets.get(index) else { return start..start };
        // Most requests have few of the fields that rules know.
        let is_absent = target.header.is_some_and(|name| !self.data.message.header_names.may_have(name));
        match target.tx {
            Some(tx) => self.find_tx(target, tx),
            None if is_absent && target.count => self.push_count(target, 0),
            None if is_absent => {}
            None => self.find_all(target),
        }
        let end = self.cache.values.len();
        if target.variable.changes != Changes::WithRules
            && let Some(slot) = self.cache.found.get_mut(index)
        {
            *slot = u32::try_from(start).ok().zip(u32::try_from(end).ok());
        }
        start..end
    }

    fn find_tx(&mut self, target: &Target, tx: usize) {
        let text = self.data.tx.get(tx).copied().flatten();
        if target.count {
            self.push_count(target, usize::from(text.is_some()));
        } else if let Some(text) = text {
            let name = self.data.tx_names.get(tx).copied().unwrap_or(Text::EMPTY);
            self.push_value(target, name, text);
        }
    }

    fn find_all(&mut self, target: &Target) {
        let mut entries = std::mem::take(&mut self.cache.entries_found);
        entries.clear();
        if let Some(taken) = &target.tx_taken {
            let is_taken = |key| target.takes(self.data.bytes(key));
            self.data.visit_tx_of(taken, is_taken, &mut |key, text| entries.push((key, text)));
        } else {
            (target.variable.values)(&self.data, &mut |key, text| {
                if target.takes(self.data.bytes(key)) {
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
        self.cache.entries_found = entries;
    }

    fn push_count(&mut self, target: &Target, count: usize) {
        let text = self.data.buffers.add_count(count);
        self.push_value(target, Text::EMPTY, text);
    }

    fn push_value(&mut self, target: &Target, key: Text, text: Text) {
        let seen = if target.variable.changes == Changes::WithRules {
            self.push_seen(text)
        } else if let Some(known) = self.cache.texts.get(&text) {
            *known
        } else {
            let seen = self.push_seen(text);
            self.cache.texts.insert(text, seen);
            seen
        };
        self.cache.values.push(Value { variable: target.variable, key, seen });
    }

    /// Index in `seen` of a value as it came.
    pub(super) fn raw(&self, value: usize) -> usize {
        self.cache.values.get(value).map_or(0, |value| value.seen)
    }

    /// Index in `seen` of an entry under a pipeline.
    pub(super) fn under(&mut self, program: &Program, seen: usize, pipeline: &Pipeline) -> usize {
        if !self.touches(pipeline.touches.as_ref(), seen) {
            return seen;
        }
        pipeline.steps.iter().fold(seen, |seen, step| self.step(program, seen, step))
    }

    /// Index in `seen` of an entry after a transformation.
    pub(super) fn step(&mut self, program: &Program, before: usize, step: &Step) -> usize {
        if !self.touches(step.touches.as_ref(), before) {
            return before;
        }
        let slot = before * program.steps + step.number;
        let known = self.cache.steps.get(slot).copied().unwrap_or(0);
        if known > 0 {
            return known as usize - 1;
        }
        let text = self.cache.seen.get(before).map_or(Text::EMPTY, |entry| entry.text);
        let after = self.data.buffers.transform(text, step.apply);
        let index = if after == text { before } else { self.push_seen(after) };
        if self.cache.steps.len() <= slot {
            self.cache.steps.resize(self.cache.seen.len() * program.steps, 0);
        }
        if let Some(known) = self.cache.steps.get_mut(slot) {
            *known = known_as(index);
        }
        index
    }

    /// Whether an entry holds a byte that is touched; `None` stands for any, and for none.
    fn touches(&self, touches: Option<&ByteSet>, seen: usize) -> bool {
        touches.is_none_or(|touches| {
            self.cache.seen.get(seen).is_none_or(|entry| entry.bytes.intersects(touches))
        })
    }

    fn push_seen(&mut self, text: Text) -> usize {
        let bytes = ByteSet::of_text(self.data.buffers.get(text));
        self.cache.seen.push(CachedValue::new(text, bytes));
        self.cache.seen.len() - 1
    }

    /// Forgets values of the moment, which are looked up again the next time.
    pub(super) fn forget_moment(&mut self, program: &Program, values: usize, seen: usize) {
        self.cache.values.truncate(values);
        self.cache.seen.truncate(seen);
        self.cache.steps.truncate(seen * program.steps);
    }
}

/// An index as `steps` keeps it: 0 stands for none.
fn known_as(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(0)
}
