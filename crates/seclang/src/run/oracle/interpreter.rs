//! Rules in order, each value looked up, transformed and tested again.

use std::sync::Arc;

use crate::expansion::TxNames;
use crate::run::MAX_VALUES;
use smallvec::smallvec;

use crate::ir::{
    Change, CollectionActionIr, CollectionKind, ControlIr, Disruptive, EngineMode, ItemIr, OperatorIr,
    RuleIr, TargetIr,
};
use crate::macros::{Macro, Part};
use crate::operators::{Argument, Patterns};
use crate::{Phase, variables};
use pattern::Groups;

use super::*;

impl Oracle<'_> {
    pub(super) fn phase(&mut self, phase: Phase) {
        if self.engine == EngineMode::Off || self.allowed.is_some_and(|last| phase <= last) {
            return;
        }
        let (mut until, mut skip): (Option<&str>, usize) = (None, 0);
        let phases = self.phases;
        for item in &phases.1[&phase] {
            let rule = match item {
                ItemIr::Marker(name) => {
                    if until == Some(name) {
                        until = None;
                    }
                    continue;
                }
                ItemIr::Rule(rule) if until.is_none() => rule,
                ItemIr::Rule(_) => continue,
            };
            if skip > 0 {
                skip -= 1;
                continue;
            }
            if self.removed.iter().any(|rules| self.memo.means(rules, rule)) || !self.rule(rule) {
                continue;
            }
            until = rule.actions.skip_after.as_deref();
            skip = rule.actions.skip;
            match rule.actions.disruptive {
                Some(Disruptive::Allow(scope)) if self.engine == EngineMode::On => {
                    use crate::ir::AllowScope;
                    self.allowed = Some(match scope {
                        AllowScope::Transaction => Phase::ResponseBody,
                        AllowScope::Phase => phase,
                        AllowScope::Request => Phase::RequestBody,
                    });
                    return;
                }
                Some(Disruptive::Deny | Disruptive::Drop) if self.engine == EngineMode::On => return,
                _ => {}
            }
        }
    }

    fn rule(&mut self, root: &RuleIr) -> bool {
        self.matched.clear();
        let mut hit =
            Seen { rule: root.id, message: String::new(), data: String::new(), values: Vec::new(), score: 0 };
        for link in std::iter::once(root).chain(&root.chain) {
            if !self.link(root, link, &mut hit) {
                return false;
            }
        }
        if let Some(severity) = root.actions.severity
            && i64::from(severity) < number(&self.severity)
        {
            self.severity = severity.to_string().into_bytes();
        }
        if root.actions.log.unwrap_or(true) {
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            hit.message = text(self.expand(&root.actions.msg));
            let data = root
                .chain
                .iter()
                .rev()
                .map(|link| &link.actions.logdata)
                .find(|data| data.literal() != Some(""));
            hit.data = text(self.expand(data.unwrap_or(&root.actions.logdata)));
            let told = &self.matched[self.matched.len().saturating_sub(MAX_VALUES)..];
            let values = told.iter().map(|(name, value)| (text(name.clone()), value.clone()));
            hit.values = values.collect();
            self.seen.push(hit);
        }
        true
    }

    fn link(&mut self, root: &RuleIr, link: &RuleIr, hit: &mut Seen) -> bool {
        let Some(operator) = &link.operator else {
            self.act(link, hit);
            return true;
        };
        let mut any = false;
        for target in &link.targets {
            for (key, value) in self.values(target) {
                if self.is_removed(root, target, &key) {
                    continue;
                }
                for (step, holds, found) in self.tested(link, operator, value).iter() {
                    // What is captured stays, also if the rule does not match in the end.
                    if *holds && link.actions.capture && !operator.negated {
                        for group in 0..pattern::MAX_GROUPS {
                            let span = found.get(group).copied().flatten();
                            self.set(&group.to_string(), span.map(|(start, end)| step[start..end].to_vec()));
                        }
                    }
                    if *holds != operator.negated {
                        any = true;
                        let mut name = target.variable.name.as_bytes().to_vec();
                        if target.variable.collection {
                            name.push(b':');
                            name.extend_from_slice(&key);
                        }
                        self.matched.push((name, step.clone()));
                        self.act(link, hit);
                    }
                }
            }
        }
        any
    }

    /// A value after each transformation that counts, tested.
    fn tested(&mut self, link: &RuleIr, operator: &OperatorIr, value: Vec<u8>) -> Arc<[Tested]> {
        let argument = self.memo.argument(operator);
        let known = self.memo.tested.get(&address(link)).and_then(|values| values.get(&value));
        if let Some(known) = known {
            return Arc::clone(known);
        }
        let text = self.expand(&argument);
        let mut steps = vec![value.clone()];
        for transformation in link.transformations.iter().filter(|t| t.name != "none") {
            let before = steps.last().unwrap();
            let mut after = Vec::new();
            let changed = (transformation.apply)(before, &mut after);
            steps.push(if changed { after } else { before.clone() });
        }
        if !link.actions.multi_match {
            steps = vec![steps.pop().unwrap()];
        }
        steps.dedup();
        let test = |step: Vec<u8>| {
            let (holds, found) = self.holds(operator, &text, &step);
            (step, holds, found)
        };
        let tested: Arc<[Tested]> = steps.into_iter().map(test).collect();
        // Macros make the answer one of the moment.
        if argument.literal().is_some() {
            let entry = size_of::<Tested>() + 64;
            self.memo.tested_bytes += value.len() + tested.iter().map(|t| t.0.len() + entry).sum::<usize>();
            self.memo.tested.entry(address(link)).or_default().insert(value, Arc::clone(&tested));
        }
        tested
    }

    /// Whether the operator holds, and the place and groups of the match.
    fn holds(&mut self, operator: &OperatorIr, text: &[u8], input: &[u8]) -> (bool, Groups) {
        let contains = |input: &[u8], wanted: &[u8]| {
            wanted.is_empty() || input.windows(wanted.len()).any(|w| w == wanted)
        };
        let plain = match operator.definition.name {
            "streq" => Some(input == text),
            "contains" | "strmatch" => Some(contains(input, text)),
            "within" => Some(contains(text, input)),
            "beginsWith" => Some(input.starts_with(text)),
            "endsWith" => Some(input.ends_with(text)),
            "eq" => Some(atoi(input) == atoi(text)),
            "ge" => Some(atoi(input) >= atoi(text)),
            "gt" => Some(atoi(input) > atoi(text)),
            "le" => Some(atoi(input) <= atoi(text)),
            "lt" => Some(atoi(input) < atoi(text)),
            _ => None,
        };
        if let Some(holds) = plain {
            let at = input.windows(text.len().max(1)).position(|window| window == text);
            let part = at.filter(|_| matches!(operator.definition.name, "contains" | "strmatch"));
            return (holds, smallvec![Some(part.map_or((0, input.len()), |at| (at, at + text.len())))]);
        }
        let text = String::from_utf8_lossy(text).into_owned();
        let test = self.memo.tests.entry((address(operator), text)).or_insert_with_key(|(_, text)| {
            let mut argument = Argument {
                text,
                lines: &operator.lines,
                names: &mut TxNames::default(),
                patterns: &Patterns::default(),
                geo: operator.geo.as_ref(),
            };
            (operator.definition.compile)(&mut argument).ok()
        });
        let Some(test) = test else { return (false, Groups::new()) };
        let holds = test.is_match(input, &self.transaction.data);
        (holds, if holds { test.locate(input, &self.transaction.data).0 } else { Groups::new() })
    }

    /// Names are compared without case, and keep that of the one who set them first.
    fn set(&mut self, name: &str, value: Option<Vec<u8>>) {
        let at = self.tx.iter().position(|(known, _)| known.eq_ignore_ascii_case(name));
        match (at, value) {
            (Some(at), Some(value)) => self.tx[at].1 = value,
            (Some(at), None) => {
                self.tx.remove(at);
            }
            (None, Some(value)) => self.tx.push((name.to_owned(), value)),
            (None, None) => {}
        }
    }

    fn get(&self, name: &str) -> Option<&[u8]> {
        self.tx.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_slice())
    }

    /// Names and values of a variable, now; of the names that are wanted.
    fn entries(&self, variable: &variables::Definition, wanted: impl Fn(&[u8]) -> bool) -> Entries {
        let mut found = Entries::new();
        let mut add = |key: &[u8], value: &[u8]| {
            if wanted(key) {
                found.push((key.to_vec(), value.to_vec()));
            }
        };
        match variable.name {
            "TX" => self.tx.iter().for_each(|(name, value)| add(name.as_bytes(), value)),
            "MATCHED_VAR" => self.matched.last().into_iter().for_each(|(_, value)| add(b"", value)),
            "MATCHED_VAR_NAME" => self.matched.last().into_iter().for_each(|(name, _)| add(b"", name)),
            "MATCHED_VARS" => self.matched.iter().for_each(|(name, value)| add(name, value)),
            "MATCHED_VARS_NAMES" => self.matched.iter().for_each(|(name, _)| add(name, name)),
            "HIGHEST_SEVERITY" => add(b"", &self.severity),
            _ => (variable.values)(&self.transaction.data, &mut |key, value| {
                add(self.transaction.data.bytes(key), self.transaction.data.bytes(value));
            }),
        }
        found
    }

    fn values(&self, target: &TargetIr) -> Entries {
        let takes =
            |key: &[u8]| target.selector.as_ref().is_none_or(|selector| self.memo.takes(selector, key));
        let is_excluded =
            |key: &[u8]| target.exclusions.iter().any(|selector| self.memo.takes(selector, key));
        if target.count {
            let found = self.entries(target.variable, |key| takes(key) && !is_excluded(key));
            return vec![(Vec::new(), found.len().to_string().into_bytes())];
        }
        self.entries(target.variable, |key| takes(key) && !is_excluded(key))
    }

    /// Whether a `ctl` of this transaction took the value away.
    fn is_removed(&self, root: &RuleIr, target: &TargetIr, key: &[u8]) -> bool {
        self.removed_targets.iter().any(|(rules, variable, selector)| {
            *variable == target.variable
                && self.memo.means(rules, root)
                && selector.as_ref().is_none_or(|selector| self.memo.takes(selector, key))
        })
    }

    fn expand(&self, text: &Macro) -> Vec<u8> {
        let mut out = Vec::new();
        for part in &text.0 {
            match part {
                Part::Literal(text) => out.extend_from_slice(text.as_bytes()),
                Part::Variable { variable, selector: Some(name) } if variable.name == "TX" => {
                    out.extend_from_slice(self.get(name).unwrap_or(&[]));
                }
                Part::Variable { variable, selector } => {
                    let entries = self.entries(variable, |key| {
                        selector.as_ref().is_none_or(|name| key.eq_ignore_ascii_case(name.as_bytes()))
                    });
                    out.extend_from_slice(entries.first().map_or(&[][..], |(_, value)| value));
                }
            }
        }
        out
    }

    fn act(&mut self, link: &RuleIr, hit: &mut Seen) {
        let sets = link.actions.collections.iter().filter_map(|action| match action {
            CollectionActionIr::Set(set) => Some(set),
            _ => None,
        });
        for set in sets.filter(|set| set.collection == CollectionKind::Tx) {
            let name = String::from_utf8_lossy(&self.expand(&set.name)).into_owned();
            // Names without macros are the matcher's array indexes, in lower case.
            let name = if set.name.literal().is_some() { name.to_ascii_lowercase() } else { name };
            let operand = self.expand(&set.value);
            let before = number(self.get(&name).unwrap_or(&[]));
            let level = name
                .to_ascii_lowercase()
                .strip_prefix("inbound_")
                .map_or_else(|| name.to_ascii_lowercase(), str::to_owned)
                .strip_prefix("anomaly_score_pl")
                .and_then(|level| level.parse::<usize>().ok())
                .filter(|level| (1..=4).contains(level));
            if let (Change::Add, Some(level), Some(_)) = (set.change, level, set.name.literal()) {
                self.scores[level - 1] += number(&operand);
                hit.score += number(&operand);
            }
            let value = match set.change {
                Change::Set => Some(operand),
                Change::Unset => None,
                Change::Add => Some((before + number(&operand)).to_string().into_bytes()),
                Change::Subtract => Some((before - number(&operand)).to_string().into_bytes()),
            };
            self.set(&name, value);
        }
        for control in &link.actions.controls {
            match control {
                ControlIr::RuleEngine(mode) => self.engine = *mode,
                ControlIr::RemoveRules(rules) => self.removed.push(rules.clone()),
                ControlIr::RemoveTargets { rules, variable, selector } => {
                    self.removed_targets.push((rules.clone(), variable, selector.clone()));
                }
                ControlIr::BodyProcessor(name) => {
                    self.transaction.controls.body_processor = Some(name.clone());
                    self.transaction.data.message.processor =
                        self.transaction.data.buffers.add(name.as_bytes());
                }
                ControlIr::ForceBodyVariable(on) => self.transaction.controls.force_body_variable = *on,
                ControlIr::ResponseBodyAccess(_) => {}
            }
        }
    }
}

fn number(text: &[u8]) -> i64 {
    std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// The number a text begins with.
fn atoi(text: &[u8]) -> i64 {
    let text = String::from_utf8_lossy(text).trim().to_owned();
    let end = text
        .char_indices()
        .take_while(|(at, c)| c.is_ascii_digit() || (*at == 0 && matches!(c, '-' | '+')))
        .map(|(at, c)| at + c.len_utf8())
        .last()
        .unwrap_or(0);
    text[..end].trim_start_matches('+').parse().unwrap_or(0)
}
