//! The walk over a plan: rules in order, values once, views once.

use std::sync::Arc;
use std::time::Duration;

use super::collections::{Lifetime, Update};
use super::prefilter::ByteSet;
use super::program::{CollectionAction, Control, Link, Program, Root, Selector, SetVariable, Target};
use super::report::Hit;
use super::text::{Buffers, Text};
use super::transaction::{Interruption, Matched, Transaction, Value};
use crate::pattern::MAX_GROUPS;
use crate::waf::Phase;
use crate::waf::ir::{AllowScope, Change, CollectionKind, Disruptive, EngineMode};

/// A value under a view, with what prefilters ask of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    text: Text,
    bytes: Option<ByteSet>,
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
        if program.own_rule {
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
        for &target_index in &link.targets {
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
                    for view in chain_of(program, link.view) {
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
                self.rows.truncate(start * program.views.len());
                self.seen.truncate(seen_before);
            }
        }
        any
    }

    /// One value under one view: whether it matches; then the link acts.
    #[expect(clippy::too_many_arguments, reason = "the state of the walk, spelled out where it is hottest")]
    fn test(
        &mut self,
        program: &Program,
        at: (usize, usize),
        root: &Root,
        link: &Link,
        test: &dyn crate::waf::operators::Test,
        value: &Value,
        seen: usize,
        hit: &mut Hit,
    ) -> bool {
        if self.holds(test, seen) == link.negated {
            return false;
        }
        if root.told || link.capture {
            self.note_match(link, test, value, seen);
        }
        self.act(program, at, link, hit);
        true
    }

    fn holds(&mut self, test: &dyn crate::waf::operators::Test, seen: usize) -> bool {
        let Some(entry) = self.seen.get_mut(seen) else { return false };
        if let Some(prefilter) = test.prefilter() {
            let text = entry.text;
            let bytes = *entry.bytes.get_or_insert_with(|| ByteSet::of(self.buffers.get(text)));
            if !prefilter.passes(text.len(), &bytes) {
                return false;
            }
        }
        let text = self.seen.get(seen).map_or(Text::EMPTY, |entry| entry.text);
        test.is_match(self.bytes(text), self)
    }

    fn note_match(
        &mut self,
        link: &Link,
        test: &dyn crate::waf::operators::Test,
        value: &Value,
        seen: usize,
    ) {
        let text = self.seen.get(seen).map_or(Text::EMPTY, |entry| entry.text);
        let name = self.compose(|transaction, out| {
            out.extend_from_slice(value.variable.name.as_bytes());
            if value.variable.collection {
                out.push(b':');
                out.extend_from_slice(transaction.bytes(value.key));
            }
        });
        // What a negated operator did not find has no place.
        let found = if link.negated { Vec::new() } else { test.locate(self.bytes(text), self).0 };
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
            if let Some(text) = self.tx.get(tx).copied().flatten() {
                let key = self.tx_names.get(tx).copied().unwrap_or(Text::EMPTY);
                self.values.push(Value { variable: target.variable, key, text });
                self.rows.resize(self.values.len() * program.views.len(), 0);
            }
            return (start, self.values.len());
        }
        let mut values = std::mem::take(&mut self.values);
        let mut count = 0;
        (target.variable.values)(self, &mut |key, text| {
            if takes(target, self.bytes(key)) {
                count += 1;
                if !target.count {
                    values.push(Value { variable: target.variable, key, text });
                }
            }
        });
        self.values = values;
        if target.count {
            let text = self.buffers.add_count(count);
            self.values.push(Value { variable: target.variable, key: Text::EMPTY, text });
        }
        let range = (start, self.values.len());
        self.rows.resize(range.1 * program.views.len(), 0);
        if !target.variable.volatile
            && let Some(slot) = self.found.get_mut(index)
        {
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

    /// Index in `seen` of a value under a view; each step runs once for each value.
    fn view(&mut self, program: &Program, value: usize, view: usize) -> usize {
        let slot = value * program.views.len() + view;
        if let Some(known) = self.rows.get(slot).copied().filter(|known| *known > 0) {
            return known as usize - 1;
        }
        let node = program.views.get(view).copied();
        let index = match node.and_then(|node| node.step.map(|step| (node.parent, step))) {
            None => {
                let text = self.values.get(value).map_or(Text::EMPTY, |value| value.text);
                self.push_seen(text)
            }
            Some((parent, step)) => {
                let before = self.view(program, value, parent);
                let text = self.seen.get(before).map_or(Text::EMPTY, |entry| entry.text);
                let after = self.buffers.transform(text, step.apply);
                if after == text { before } else { self.push_seen(after) }
            }
        };
        if let Some(row) = self.rows.get_mut(slot) {
            *row = u32::try_from(index + 1).unwrap_or(0);
        }
        index
    }

    fn push_seen(&mut self, text: Text) -> usize {
        self.seen.push(Seen { text, bytes: None });
        self.seen.len() - 1
    }

    /// The non-disruptive actions of a link that matched.
    fn act(&mut self, program: &Program, at: (usize, usize), link: &Link, hit: &mut Hit) {
        for action in &link.collections {
            self.collection_action(program, action, hit);
        }
        for (index, control) in link.controls.iter().enumerate() {
            match control {
                Control::RuleEngine(mode) => self.engine = *mode,
                Control::RemoveRules(_) => self.controls.removed.push((at.0, at.1, index)),
                Control::RemoveTargets { .. } => self.controls.removed_targets.push((at.0, at.1, index)),
                Control::BodyProcessor(name) => {
                    self.controls.body_processor = Some(name.clone());
                    self.facts.processor = self.buffers.add(name.as_bytes());
                    self.forget_values();
                }
                Control::ForceBodyVariable(on) => self.controls.force_body_variable = *on,
                Control::ResponseBodyAccess(on) => self.response_body_access = *on,
            }
        }
    }

    fn collection_action(&mut self, program: &Program, action: &CollectionAction, hit: &mut Hit) {
        match action {
            CollectionAction::Set(set) => self.set_variable(program, set, hit),
            CollectionAction::Open { kind, key } => {
                let key = self.compose(|transaction, out| key.expand(transaction, out));
                match kind {
                    CollectionKind::Session => self.facts.session_id = key,
                    CollectionKind::User => self.facts.user_id = key,
                    _ => {}
                }
                if self.open.iter().any(|(open, _)| open == kind) {
                    return;
                }
                self.open.push((*kind, key));
                let mut found = Vec::new();
                program.collections.read(*kind, self.bytes(key), self.now, |name, value| {
                    found.push((name.to_vec(), value.to_vec()));
                });
                for (name, value) in found {
                    let entry = (*kind, self.buffers.add(&name), self.buffers.add(&value));
                    self.entries.push(entry);
                }
            }
            CollectionAction::Expire { kind, name, seconds } => {
                let name = self.compose(|transaction, out| name.expand(transaction, out));
                let seconds = self.compose(|transaction, out| seconds.expand(transaction, out));
                let seconds = u64::try_from(number(self.bytes(seconds))).unwrap_or(0);
                if let Some((_, key)) = self.open.iter().find(|(open, _)| open == kind) {
                    let update = Update::Expire(self.now.saturating_add(Duration::from_secs(seconds)));
                    let (key, name) = (self.bytes(*key), self.bytes(name));
                    program.collections.update(*kind, key, name, update, self.lifetime(program));
                }
            }
            CollectionAction::SetEnvironment { name, value } => {
                let name = self.compose(|transaction, out| name.expand(transaction, out));
                let value = self.compose(|transaction, out| value.expand(transaction, out));
                self.env.push((name, value));
            }
        }
    }

    fn lifetime(&self, program: &Program) -> Lifetime {
        Lifetime { now: self.now, ends: self.now.saturating_add(program.record_lifetime) }
    }

    /// `setvar` of a persistent collection; nothing where it was not opened.
    fn set_persistent(&mut self, program: &Program, set: &SetVariable, operand: Text, name: Text) {
        let Some((_, key)) = self.open.iter().find(|(open, _)| *open == set.collection).copied() else {
            return;
        };
        let update = Update::Change(set.change, self.bytes(operand));
        let (key, entry) = (self.bytes(key), self.bytes(name));
        let after = program.collections.update(set.collection, key, entry, update, self.lifetime(program));
        let entries = std::mem::take(&mut self.entries);
        self.entries = entries
            .into_iter()
            .filter(|(kind, known, _)| {
                *kind != set.collection || !self.bytes(*known).eq_ignore_ascii_case(self.bytes(name))
            })
            .collect();
        if let Some(value) = after {
            let value = self.buffers.add(&value);
            self.entries.push((set.collection, name, value));
        }
    }

    fn set_variable(&mut self, program: &Program, set: &SetVariable, hit: &mut Hit) {
        let operand = self.compose(|transaction, out| set.value.expand(transaction, out));
        let name = match set.index {
            Some(_) => Text::EMPTY,
            None => self.compose(|transaction, out| set.name.expand(transaction, out)),
        };
        if set.collection != CollectionKind::Tx {
            return self.set_persistent(program, set, operand, name);
        }
        let index = set.index.or_else(|| program.names.find(self.bytes(name)));
        let dynamic = self
            .tx_dynamic
            .iter()
            .position(|(known, _)| self.bytes(*known).eq_ignore_ascii_case(self.bytes(name)));
        let before = match (index, dynamic) {
            (Some(index), _) => number(self.tx_value(index)),
            (None, Some(at)) => self.tx_dynamic.get(at).map_or(0, |(_, value)| number(self.bytes(*value))),
            (None, None) => 0,
        };
        let change = number(self.bytes(operand));
        if let (Some(level), Change::Add) = (set.scores_level, set.change) {
            if let Some(score) = self.scores.get_mut(usize::from(level.saturating_sub(1))) {
                *score = score.saturating_add(change);
            }
            hit.score = hit.score.saturating_add(change);
        }
        let after = match set.change {
            Change::Set => Some(operand),
            Change::Unset => None,
            Change::Add => Some(self.buffers.add_number(before.saturating_add(change))),
            Change::Subtract => Some(self.buffers.add_number(before.saturating_sub(change))),
        };
        match (index, dynamic, after) {
            (Some(index), ..) => self.set_tx(index, after),
            (None, Some(at), None) => {
                self.tx_dynamic.swap_remove(at);
            }
            (None, Some(at), Some(value)) => {
                self.tx_dynamic.get_mut(at).into_iter().for_each(|entry| entry.1 = value)
            }
            (None, None, Some(value)) => self.tx_dynamic.push((name, value)),
            (None, None, None) => {}
        }
    }
}

fn takes(target: &Target, key: &[u8]) -> bool {
    let chosen = target.selector.as_ref().is_none_or(|selector: &Selector| selector.takes(key));
    // A count has no single value to leave out later.
    chosen && !(target.count && target.exclusions.iter().any(|selector| selector.takes(key)))
}

/// The views from the value itself to this one.
fn chain_of(program: &Program, view: usize) -> Vec<usize> {
    let mut chain = vec![view];
    let mut at = view;
    while let Some(node) = program.views.get(at).filter(|node| node.step.is_some()) {
        at = node.parent;
        chain.push(at);
    }
    chain.reverse();
    chain
}

/// The `ctl` at a place.
fn control(program: &Program, (root, link, control): (usize, usize, usize)) -> Option<&Control> {
    program.roots.get(root)?.links.get(link)?.controls.get(control)
}

/// The number that a text is; 0 where it is none.
pub(super) fn number(text: &[u8]) -> i64 {
    std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}
