//! The walk over a plan: rules in order, values once, pipelines once.

use crate::data::number;
use std::sync::Arc;

use super::report::Hit;
use super::schedule::ScheduledRule;
use super::transaction::{Interruption, Transaction, Value};
use super::watch::Watch;
use crate::Phase;
use crate::compile::program::{Control, Link, Program, Root};
use crate::data::Matched;
use crate::data::Pair;
use crate::data::{Buffers, Text};
use crate::ir::{AllowScope, Disruptive, EngineMode};
use crate::operators::Test;
use crate::variables::Changes;
use pattern::{Groups, MAX_GROUPS};

impl Transaction {
    /// Runs the rules of a phase.
    ///
    /// Refusals end the phase. If the engine only detects, they are reported and the phase goes
    /// on.
    pub fn run(&mut self, phase: Phase) -> Option<Interruption> {
        self.run_watched(phase, &mut ())
    }

    /// The same under someone's eyes; what they end is not taken up again by a later phase.
    pub fn run_watched(&mut self, phase: Phase, watch: &mut impl Watch) -> Option<Interruption> {
        if self.controls.engine == EngineMode::Off || self.verdict.allowed.is_some_and(|last| phase <= last) {
            return None;
        }
        if let Some(status) = self.verdict.too_long.take() {
            return Some(Interruption { rule: 0, status, phase, location: None });
        }
        let plan = Arc::clone(&self.plan);
        let program = &*plan.program;
        let mut resume = 0;
        for scheduled in plan.phases.get(phase.index()).map_or(&[][..], Vec::as_slice) {
            let index = scheduled.root;
            if index < resume {
                continue;
            }
            if !watch.begins(scheduled.id) {
                self.verdict.allowed = Some(Phase::Logging);
                return None;
            }
            let matched =
                if self.may_match(program, scheduled) && !self.is_removed(program, index, scheduled.id) {
                    program.roots.get(index).filter(|root| self.root(program, index, root))
                } else {
                    None
                };
            watch.ends(scheduled.id, matched.is_some());
            let Some(root) = matched else { continue };
            resume = root.skip_to.unwrap_or(resume);
            match root.disruptive {
                Some(Disruptive::Allow(scope)) if self.controls.engine == EngineMode::On => {
                    self.verdict.allowed = Some(match scope {
                        AllowScope::Transaction => Phase::ResponseBody,
                        AllowScope::Phase => phase,
                        AllowScope::Request => Phase::RequestBody,
                    });
                    return None;
                }
                _ if plan.refuses(index)
                    && self.controls.engine == EngineMode::On
                    && !self.controls.reporting.contains(&root.id) =>
                {
                    if let Some(hit) = self.verdict.hits.last_mut().filter(|hit| hit.root == index) {
                        hit.refused = true;
                    }
                    let location = root.redirect.as_ref().map(|address| {
                        let address = self.data.compose(|data, out| address.expand(data, out));
                        String::from_utf8_lossy(self.data.bytes(address)).into_owned()
                    });
                    return Some(Interruption { rule: root.id, status: root.status, phase, location });
                }
                _ => {}
            }
        }
        None
    }

    /// Whether the first link of a rule can match any value: all that most rules are asked.
    #[inline]
    fn may_match(&mut self, program: &Program, scheduled: &ScheduledRule) -> bool {
        let Some(group) = scheduled.group else { return true };
        let Some(prefilter) = program.prefilters.get(scheduled.root) else { return false };
        let known = self.group(program, group as usize);
        self.admits(known.summary, scheduled.negated, scheduled.literals, prefilter)
    }

    fn is_removed(&self, program: &Program, root: usize, id: u64) -> bool {
        let controls = &self.controls;
        controls.excluded.contains(&id)
            || controls.removed.iter().any(|at| match control(program, *at) {
                Some(Control::RemoveRules(rules)) => rules.has(root),
                _ => false,
            })
    }

    /// One rule with its chain, of those whose first link may match: whether all of it did.
    fn root(&mut self, program: &Program, index: usize, root: &Root) -> bool {
        self.data.matched.clear();
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
        if root.log || root.audit {
            hit.message = self.data.compose(|data, out| root.meta.msg.expand(data, out));
            let logdata =
                root.links.iter().rev().map(|link| &link.logdata).find(|data| data.literal() != Some(&[]));
            if let Some(logdata) = logdata {
                hit.data = self.data.compose(|data, out| logdata.expand(data, out));
            }
            let from = self.verdict.evidence.len();
            self.verdict.evidence.extend_from_slice(&self.data.matched);
            hit.evidence = from..self.verdict.evidence.len();
            self.verdict.hits.push(hit);
        }
        true
    }

    fn name_rule(&mut self, root: &Root) {
        let severity = root.meta.severity.map_or_else(String::new, |severity| severity.to_string());
        let entries =
            [("id", root.id.to_string()), ("msg", root.meta.msg_text.clone()), ("severity", severity)];
        self.data.rule = entries
            .iter()
            .map(|(name, value)| {
                (self.data.buffers.add(name.as_bytes()), self.data.buffers.add(value.as_bytes()))
            })
            .collect();
    }

    /// Keeps `HIGHEST_SEVERITY`: the smallest number is the worst.
    fn note_severity(&mut self, severity: u8) {
        let worst = number(self.data.bytes(self.data.message.highest_severity));
        if i64::from(severity) < worst {
            self.data.message.highest_severity = self.data.buffers.add_number(i64::from(severity));
        }
    }

    pub(super) fn link(
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
        let admits = |transaction: &Self, summary| {
            transaction.admits(
                summary,
                link.negated,
                link.precondition.literals,
                &link.precondition.prefilter,
            )
        };
        let known = link.group.map(|group| self.group(program, group));
        // Of the first link this was asked before.
        if let Some(known) = known.filter(|_| at.1 > 0)
            && !admits(self, known.summary)
        {
            return false;
        }
        let Some(pipeline) = program.pipelines.get(link.pipeline) else { return false };
        let mut any = false;
        for (position, &index) in link.transformed_targets.iter().enumerate() {
            if known.is_some_and(|known| !known.has(position)) {
                continue;
            }
            let Some(transformed_target) = program.transformed_targets.get(index) else { continue };
            let is_volatile = transformed_target.changes == Changes::WithRules;
            // One transformed target is its group.
            if !is_volatile && link.transformed_targets.len() > 1 {
                let summary = self.transformed_target(program, index);
                if !admits(self, summary) {
                    continue;
                }
            }
            let seen_before = self.cache.seen.len();
            let values = self.find(program, transformed_target.target);
            let first = values.start;
            for index in values {
                let Some(value) = self.cache.values.get(index).copied() else { continue };
                if self.is_removed_target(program, at.0, &value) {
                    continue;
                }
                let mut test = |transaction: &mut Self, seen, unmatched| {
                    transaction.test(program, at, root, link, test.as_ref(), &value, (seen, unmatched), hit)
                };
                if link.multi_match {
                    let mut seen = value.seen;
                    let mut matched = test(self, seen, None);
                    any |= matched;
                    for step in &pipeline.steps {
                        let next = self.step(program, seen, step);
                        if next != seen {
                            let unmatched = (!matched && !link.negated).then_some(seen);
                            seen = next;
                            matched = test(self, seen, unmatched);
                            any |= matched;
                        }
                    }
                } else {
                    let seen = self.under(program, value.seen, pipeline);
                    any |= test(self, seen, None);
                }
            }
            if is_volatile {
                self.forget_moment(program, first, seen_before);
            }
        }
        any
    }

    /// One value under one pipeline, and what it was made of if that did not match: whether it matches; then the link
    /// acts.
    #[expect(clippy::too_many_arguments, reason = "the state of the walk, spelled out where it is hottest")]
    fn test(
        &mut self,
        program: &Program,
        at: (usize, usize),
        root: &Root,
        link: &Link,
        test: &dyn Test,
        value: &Value,
        (seen, unmatched): (usize, Option<usize>),
        hit: &mut Hit,
    ) -> bool {
        let holds = self.value_passes(program, &link.precondition, seen) && {
            let bytes = |seen: usize| {
                let text = self.cache.seen.get(seen).map_or(Text::EMPTY, |entry| entry.text);
                self.data.bytes(text)
            };
            let places = link.precondition.literals.and_then(|set| self.places(seen, set));
            match (places, unmatched) {
                (Some(places), _) => test.is_match_near(bytes(seen), places, &self.data),
                (None, Some(unmatched)) => test.is_match_after(bytes(seen), bytes(unmatched), &self.data),
                (None, None) => test.is_match(bytes(seen), &self.data),
            }
        };
        if holds == link.negated {
            return false;
        }
        if root.told || link.capture {
            self.note_match(link, test, value, seen);
        }
        if holds {
            self.note_place(test, seen);
        }
        self.act(program, at, link, hit);
        true
    }

    /// Keeps what a lookup learnt of an address as `GEO`.
    fn note_place(&mut self, test: &dyn Test, seen: usize) {
        let text = self.cache.seen.get(seen).map_or(Text::EMPTY, |entry| entry.text);
        if let Some(place) = test.place(self.data.bytes(text)) {
            let pair = |(name, value): (&str, String)| Pair {
                key: self.data.buffers.add(name.as_bytes()),
                value: self.data.buffers.add(value.as_bytes()),
            };
            self.data.message.geo = place.into_iter().map(pair).collect();
        }
    }

    fn note_match(&mut self, link: &Link, test: &dyn Test, value: &Value, seen: usize) {
        let text = self.cache.seen.get(seen).map_or(Text::EMPTY, |entry| entry.text);
        let name = self.data.compose(|data, out| {
            out.extend_from_slice(value.variable.name.as_bytes());
            if value.variable.collection {
                out.push(b':');
                out.extend_from_slice(data.bytes(value.key));
            }
        });
        // What a negated operator did not find has no place.
        let found =
            if link.negated { Groups::new() } else { test.locate(self.data.bytes(text), &self.data).0 };
        self.data.matched.push(Matched { name, value: text, span: found.first().copied().flatten() });
        if link.capture && !found.is_empty() {
            for group in 0..MAX_GROUPS {
                let part =
                    found.get(group).copied().flatten().map(|(start, end)| Buffers::part(text, start, end));
                self.data.set_tx(group, part);
            }
        }
    }

    /// Whether a `ctl` of this transaction took the value away.
    fn is_removed_target(&self, program: &Program, root: usize, value: &Value) -> bool {
        let key = self.data.bytes(value.key);
        self.controls.removed_targets.iter().any(|at| match control(program, *at) {
            Some(Control::RemoveTargets { rules, variable, selector }) => {
                rules.has(root)
                    && *variable == value.variable
                    && selector.as_ref().is_none_or(|selector| selector.takes(key))
            }
            _ => false,
        })
    }
}

/// The `ctl` at a place.
fn control(program: &Program, (root, link, control): (usize, usize, usize)) -> Option<&Control> {
    program.roots.get(root)?.links.get(link)?.controls.get(control)
}
