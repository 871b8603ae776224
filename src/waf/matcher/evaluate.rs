//! The walk over a plan: rules in order, values once, views once.

use std::sync::Arc;

use super::literals;
use super::prefilter::ByteSet;
use super::program::{Control, Link, Program, Root, Step, Target};
use super::report::Hit;
use super::text::{Buffers, Text};
use super::transaction::{Interruption, Matched, Transaction, Value};
use crate::pattern::{Groups, MAX_GROUPS};
use crate::waf::Phase;
use crate::waf::ir::{AllowScope, Disruptive, EngineMode};
use crate::waf::operators::Test;

/// A value under a view, with what is known of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    text: Text,
    summary: Option<Summary>,
}

/// What is known of a value, or of all values of a cell together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Summary {
    longest: usize,
    bytes: ByteSet,
    /// Whether any literal was found.
    any_literal: bool,
    /// Where in the transaction's `literals` its answer begins.
    literals: usize,
}

impl Transaction {
    /// Runs the rules of a phase.
    ///
    /// Refusals end the phase. Where the engine only detects, they are reported and the phase goes
    /// on.
    pub fn run(&mut self, phase: Phase) -> Option<Interruption> {
        if self.engine == EngineMode::Off || self.allowed.is_some_and(|last| phase <= last) {
            return None;
        }
        let plan = Arc::clone(&self.plan);
        let program = &*plan.program;
        let mut resume = 0;
        for &index in plan.phases.get(phase.index()).map_or(&[][..], Vec::as_slice) {
            let Some(root) = program.roots.get(index).filter(|_| index >= resume) else { continue };
            if self.is_removed(program, index) || !self.root(program, index, root) {
                continue;
            }
            resume = root.skip_to.unwrap_or(resume);
            match root.disruptive {
                Some(Disruptive::Allow(scope)) if self.engine == EngineMode::On => {
                    self.allowed = Some(match scope {
                        AllowScope::Transaction => Phase::ResponseBody,
                        AllowScope::Phase => phase,
                        AllowScope::Request => Phase::RequestBody,
                    });
                    return None;
                }
                _ if plan.refuses(index) && self.engine == EngineMode::On => {
                    if let Some(hit) = self.hits.last_mut().filter(|hit| hit.root == index) {
                        hit.refused = true;
                    }
                    return Some(Interruption { rule: root.id, status: root.status, phase });
                }
                _ => {}
            }
        }
        None
    }

    fn is_removed(&self, program: &Program, root: usize) -> bool {
        self.controls.removed.iter().any(|at| match control(program, *at) {
            Some(Control::RemoveRules(rules)) => rules.has(root),
            _ => false,
        })
    }

    /// One rule with its chain: whether all of it matched.
    fn root(&mut self, program: &Program, index: usize, root: &Root) -> bool {
        self.matched.clear();
        let mut hit = Hit::of(index);
        if root.own_rule {
            self.name_rule(root);
        }
        for (position, link) in root.links.iter().enumerate() {
            if !self.link(program, (index, position), root, link, &mut hit) {
                return false;
            }
        }
        if let Some(severity) = root.meta.severity {
            self.note_severity(severity);
        }
        if root.log {
            hit.message = self.compose(|transaction, out| root.meta.msg.expand(transaction, out));
            let logdata =
                root.links.iter().rev().map(|link| &link.logdata).find(|data| data.literal() != Some(&[]));
            if let Some(logdata) = logdata {
                hit.data = self.compose(|transaction, out| logdata.expand(transaction, out));
            }
            let from = self.evidence.len();
            self.evidence.extend_from_slice(&self.matched);
            hit.evidence = from..self.evidence.len();
            self.hits.push(hit);
        }
        true
    }

    fn name_rule(&mut self, root: &Root) {
        let severity = root.meta.severity.map_or_else(String::new, |severity| severity.to_string());
        let entries =
            [("id", root.id.to_string()), ("msg", root.meta.msg_text.clone()), ("severity", severity)];
        self.rule = entries
            .iter()
            .map(|(name, value)| (self.buffers.add(name.as_bytes()), self.buffers.add(value.as_bytes())))
            .collect();
    }

    /// Keeps `HIGHEST_SEVERITY`: the smallest number is the worst.
    fn note_severity(&mut self, severity: u8) {
        let worst = number(self.bytes(self.facts.highest_severity));
        if i64::from(severity) < worst {
            self.facts.highest_severity = self.buffers.add_number(i64::from(severity));
        }
    }

    fn link(
        &mut self,
        program: &Program,
        at: (usize, usize),
        root: &Root,
        link: &Link,
        hit: &mut Hit,
    ) -> bool {
        let Some(test) = &link.test else {
            self.act(program, at, link, hit);
            return true;
        };
        let mut any = false;
        for (&target_index, cell) in link.targets.iter().zip(&link.cells) {
            if let Some(cell) = *cell {
                let summary = self.cell(program, cell);
                if !self.may_match(program, link, test.as_ref(), &summary) {
                    continue;
                }
            }
            let Some(target) = program.targets.get(target_index) else { continue };
            let (start, end) = self.find(program, target_index, target);
            let seen_before = self.seen.len();
            for value_index in start..end {
                let Some(value) = self.values.get(value_index).copied() else { continue };
                if self.is_excluded(program, at.0, target, &value) {
                    continue;
                }
                if link.multi_match {
                    let mut last = None;
                    let chain = program.views.get(link.view).map_or(&[][..], |view| &view.chain);
                    for &view in chain {
                        let seen = self.view(program, value_index, view);
                        if last.replace(seen) != Some(seen) {
                            any |= self.test(program, at, root, link, test.as_ref(), &value, seen, hit);
                        }
                    }
                } else {
                    let seen = self.view(program, value_index, link.view);
                    any |= self.test(program, at, root, link, test.as_ref(), &value, seen, hit);
                }
            }
            if target.variable.volatile {
                // These are looked up anew the next time.
                self.values.truncate(start);
                self.seen.truncate(seen_before);
                self.steps.truncate(seen_before * program.steps);
            }
        }
        any
    }

    /// What is known of the values of a cell, also of those that are excluded from one rule.
    fn cell(&mut self, program: &Program, index: usize) -> Summary {
        if let Some(known) = self.cells.get(index).copied().flatten() {
            return known;
        }
        let mut summary = Summary { literals: self.literals.len(), ..Summary::default() };
        let words = program.literals.words();
        self.literals.resize(summary.literals + words, 0);
        let cell = program.cells.get(index).copied();
        let target = cell.and_then(|cell| Some((cell, program.targets.get(cell.target)?)));
        if let Some((cell, target)) = target {
            let chain = program.views.get(cell.view).map_or(&[][..], |view| &view.chain);
            let views = chain.get(if cell.each { 0 } else { chain.len().saturating_sub(1) }..).unwrap_or(&[]);
            let (start, end) = self.find(program, cell.target, target);
            for value in start..end {
                for &view in views {
                    let seen = self.view(program, value, view);
                    let one = self.measure(program, seen);
                    summary.longest = summary.longest.max(one.longest);
                    summary.bytes = summary.bytes.union(&one.bytes);
                    if one.any_literal {
                        summary.any_literal = true;
                        for word in 0..words {
                            let more = self.literals.get(one.literals + word).copied().unwrap_or(0);
                            let all = self.literals.get_mut(summary.literals + word);
                            all.into_iter().for_each(|all| *all |= more);
                        }
                    }
                }
            }
        }
        if let Some(slot) = self.cells.get_mut(index) {
            *slot = Some(summary);
        }
        summary
    }

    /// What is known of a value.
    fn measure(&mut self, program: &Program, seen: usize) -> Summary {
        let Some(entry) = self.seen.get(seen) else { return Summary::default() };
        if let Some(known) = entry.summary {
            return known;
        }
        let text = self.buffers.get(entry.text);
        let at = self.literals.len();
        self.literals.resize(at + program.literals.words(), 0);
        let found = self.literals.get_mut(at..).unwrap_or(&mut []);
        let any_literal = program.literals.search(text, found);
        if !any_literal {
            // Nobody will ask for what is not there.
            self.literals.truncate(at);
        }
        let summary = Summary { longest: text.len(), bytes: ByteSet::of(text), any_literal, literals: at };
        if let Some(entry) = self.seen.get_mut(seen) {
            entry.summary = Some(summary);
        }
        summary
    }

    /// Whether a value of which this is known can match at all.
    fn may_match(&self, program: &Program, link: &Link, test: &dyn Test, summary: &Summary) -> bool {
        let holds = |set| {
            let end = summary.literals + program.literals.words();
            self.literals.get(summary.literals..end).is_none_or(|found| literals::has(found, set))
        };
        link.literals.is_none_or(|set| summary.any_literal && holds(set))
            && test.prefilter().is_none_or(|filter| filter.passes(summary.longest, &summary.bytes))
    }

    /// One value under one view: whether it matches; then the link acts.
    #[expect(clippy::too_many_arguments, reason = "the state of the walk, spelled out where it is hottest")]
    fn test(
        &mut self,
        program: &Program,
        at: (usize, usize),
        root: &Root,
        link: &Link,
        test: &dyn Test,
        value: &Value,
        seen: usize,
        hit: &mut Hit,
    ) -> bool {
        if self.holds(program, link, test, seen) == link.negated {
            return false;
        }
        if root.told || link.capture {
            self.note_match(link, test, value, seen);
        }
        self.act(program, at, link, hit);
        true
    }

    fn holds(&mut self, program: &Program, link: &Link, test: &dyn Test, seen: usize) -> bool {
        if link.literals.is_some() || test.prefilter().is_some() {
            let summary = self.measure(program, seen);
            if !self.may_match(program, link, test, &summary) {
                return false;
            }
        }
        let text = self.seen.get(seen).map_or(Text::EMPTY, |entry| entry.text);
        test.is_match(self.bytes(text), self)
    }

    fn note_match(&mut self, link: &Link, test: &dyn Test, value: &Value, seen: usize) {
        let text = self.seen.get(seen).map_or(Text::EMPTY, |entry| entry.text);
        let name = self.compose(|transaction, out| {
            out.extend_from_slice(value.variable.name.as_bytes());
            if value.variable.collection {
                out.push(b':');
                out.extend_from_slice(transaction.bytes(value.key));
            }
        });
        // What a negated operator did not find has no place.
        let found = if link.negated { Groups::new() } else { test.locate(self.bytes(text), self).0 };
        self.matched.push(Matched { name, value: text, span: found.first().copied().flatten() });
        if link.capture && !found.is_empty() {
            for group in 0..MAX_GROUPS {
                let part =
                    found.get(group).copied().flatten().map(|(start, end)| Buffers::part(text, start, end));
                self.set_tx(group, part);
            }
        }
    }

    /// The values of a target, as a range of `values`.
    fn find(&mut self, program: &Program, index: usize, target: &Target) -> (usize, usize) {
        if let Some(found) = self.found.get(index).copied().flatten() {
            return found;
        }
        let start = self.values.len();
        if let Some(tx) = target.tx {
            let text = self.tx.get(tx).copied().flatten();
            let value = if target.count {
                Some((Text::EMPTY, self.buffers.add_count(usize::from(text.is_some()))))
            } else {
                text.map(|text| (self.tx_names.get(tx).copied().unwrap_or(Text::EMPTY), text))
            };
            if let Some((key, text)) = value {
                self.values.push(Value { variable: target.variable, key, text, row: None });
            }
            return (start, self.values.len());
        }
        let mut values = std::mem::take(&mut self.values);
        let mut count = 0;
        let mut take = |key, text| {
            count += 1;
            if !target.count {
                values.push(Value { variable: target.variable, key, text, row: None });
            }
        };
        if let Some(taken) = &target.tx_taken {
            self.visit_tx_of(taken, |key| target.takes(self.bytes(key)), &mut take);
        } else {
            (target.variable.values)(self, &mut |key, text| {
                if target.takes(self.bytes(key)) {
                    take(key, text);
                }
            });
        }
        self.values = values;
        if target.count {
            let text = self.buffers.add_count(count);
            self.values.push(Value { variable: target.variable, key: Text::EMPTY, text, row: None });
        }
        let range = (start, self.values.len());
        if target.variable.volatile {
            return range;
        }
        for value in self.values.iter_mut().skip(start) {
            let next = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
            value.row = Some(*self.texts.entry(value.text).or_insert(next));
        }
        self.rows.resize(self.texts.len() * program.views.len(), 0);
        if let Some(slot) = self.found.get_mut(index) {
            *slot = Some(range);
        }
        range
    }

    fn is_excluded(&self, program: &Program, root: usize, target: &Target, value: &Value) -> bool {
        let key = self.bytes(value.key);
        if !target.count && target.exclusions.iter().any(|selector| selector.takes(key)) {
            return true;
        }
        self.controls.removed_targets.iter().any(|at| match control(program, *at) {
            Some(Control::RemoveTargets { rules, variable, selector }) => {
                rules.has(root)
                    && *variable == value.variable
                    && selector.as_ref().is_none_or(|selector| selector.takes(key))
            }
            _ => false,
        })
    }

    /// Index in `seen` of a value under a view.
    fn view(&mut self, program: &Program, value: usize, view: usize) -> usize {
        let Some(Value { text, row, .. }) = self.values.get(value).copied() else { return 0 };
        let slot = row.map(|row| row as usize * program.views.len());
        self.view_of(program, text, slot, view)
    }

    /// The same of a text, whose views begin at `slot` in `rows` where it has a row. Each step runs
    /// once for each text that is no value of the moment.
    fn view_of(&mut self, program: &Program, text: Text, slot: Option<usize>, view: usize) -> usize {
        let known = slot.and_then(|slot| self.rows.get(slot + view)).copied().unwrap_or(0);
        if known > 0 {
            return known as usize - 1;
        }
        let node = program.views.get(view);
        let index = match node.and_then(|node| node.step.map(|step| (node.parent, step))) {
            None => self.push_seen(text),
            Some((parent, step)) => {
                let before = self.view_of(program, text, slot, parent);
                self.step(program, before, step)
            }
        };
        if let Some(row) = slot.and_then(|slot| self.rows.get_mut(slot + view)) {
            *row = known_as(index);
        }
        index
    }

    /// Index in `seen` of an entry after a transformation.
    fn step(&mut self, program: &Program, before: usize, step: Step) -> usize {
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

    fn push_seen(&mut self, text: Text) -> usize {
        self.seen.push(Seen { text, summary: None });
        self.seen.len() - 1
    }
}

/// An index as `rows` and `steps` keep it: 0 stands for none.
fn known_as(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(0)
}

/// The `ctl` at a place.
fn control(program: &Program, (root, link, control): (usize, usize, usize)) -> Option<&Control> {
    program.roots.get(root)?.links.get(link)?.controls.get(control)
}

/// The number that a text is; 0 where it is none.
pub(super) fn number(text: &[u8]) -> i64 {
    std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}
