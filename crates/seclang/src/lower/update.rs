//! Changes to rules that are written elsewhere: `SecRuleUpdate…` and `SecRuleRemove…`.
//!
//! They reach the rules before them. Ids also name rules behind them, and tags and messages do if there is no such rule
//! before: other engines look up what is changed when a request comes.

use std::collections::HashSet;

use super::{Lowering, rules, target};
use crate::ir::{ActionsIr, ItemIr, RuleIr, RulesIr, TargetIr, exclude};
use crate::syntax::ast::{UpdateBy, VariableAst, Word};
use diagnostic::{Code, Diagnostic};

/// A change, with the rules that it is about.
pub(super) struct Update {
    by: UpdateBy,
    key: Word,
    rules: Vec<RulesIr>,
    change: Change,
}

enum Change {
    Remove,
    Targets {
        additions: Vec<TargetIr>,
        exclusions: Vec<TargetIr>,
    },
    /// Of the link at this place; 0 is the root.
    Actions {
        link: usize,
        actions: Box<ActionsIr>,
    },
}

impl Lowering<'_> {
    /// `SecRuleUpdateTargetBy…`
    pub(super) fn update_target(
        &mut self,
        by: UpdateBy,
        key: Word,
        variables: &[VariableAst],
        replaced: &[VariableAst],
    ) {
        let (mut additions, mut exclusions) = (Vec::new(), Vec::new());
        let taken_out = replaced.iter().map(|ast| (ast, true));
        for (ast, is_taken_out) in taken_out.chain(variables.iter().map(|ast| (ast, ast.exclude))) {
            match target(ast) {
                Ok(target) if is_taken_out => exclusions.push(target),
                Ok(target) => additions.push(target),
                Err(diagnostic) => self.diagnostics.push(*diagnostic),
            }
        }
        self.update(by, &key.text.clone(), key, Change::Targets { additions, exclusions });
    }

    /// `SecRuleRemoveBy…`
    pub(super) fn remove_rules(&mut self, by: UpdateBy, key: &Word) {
        self.update(by, &key.text, key.clone(), Change::Remove);
    }

    /// `SecRuleUpdateActionById`
    pub(super) fn update_action(&mut self, name: &Word, arguments: &[Word]) {
        let [key, list] = arguments else {
            let message = "`SecRuleUpdateActionById` takes rule ids, or `id:link`, and a list of actions";
            return self.error(Code::SecLangBadArgument, name.place(), message);
        };
        let (ids, link) = key.text.split_once(':').unwrap_or((&key.text, "0"));
        let Ok(link) = link.trim().parse::<usize>() else {
            let message = format!("expected the number of a link behind `:`, found `{}`", key.text);
            return self.error(Code::SecLangBadArgument, key.place(), message);
        };
        let actions = crate::syntax::action_list(list, self.diagnostics);
        let actions = self.actions(&actions);
        self.update(UpdateBy::Id, ids, key.clone(), Change::Actions { link, actions: Box::new(actions) });
    }

    fn update(&mut self, by: UpdateBy, which: &str, key: Word, change: Change) {
        match rules(by, which) {
            Ok(rules) => {
                let update = Update { by, key, rules, change };
                let changed = self.apply(&update, &HashSet::new());
                self.updates.push((update, changed));
            }
            Err(message) => self.error(Code::SecLangBadArgument, key.place(), message),
        }
    }

    /// Applies to rules behind them what reaches those, and warns of what has reached none.
    pub(super) fn finish_updates(&mut self) {
        for (update, before) in std::mem::take(&mut self.updates) {
            let reaches_behind = update.by == UpdateBy::Id || before.is_empty();
            let behind = if reaches_behind { self.apply(&update, &before) } else { HashSet::new() };
            if before.is_empty() && behind.is_empty() {
                let what = if matches!(update.change, Change::Remove) { "is removed" } else { "changes" };
                let message = format!("`{}` names no rule, so nothing {what}", update.key.text);
                let warning = Diagnostic::warning(Code::SecLangBadArgument, message);
                self.diagnostics.push(warning.at(update.key.place()));
            }
        }
    }

    /// Changes the rules that are meant, but for those of these ids; returns the ids of those changed.
    fn apply(&mut self, update: &Update, but: &HashSet<u64>) -> HashSet<u64> {
        let tests: Result<Vec<_>, _> = update.rules.iter().map(RulesIr::test).collect();
        let tests = match tests {
            Ok(tests) => tests,
            Err(message) => {
                self.error(Code::SecLangBadArgument, update.key.place(), message);
                return HashSet::new();
            }
        };
        let is_meant = |root: &RuleIr| !but.contains(&root.id) && tests.iter().any(|test| test(root));
        let mut changed = HashSet::new();
        if let Change::Remove = &update.change {
            self.set.items.retain(|item| match item {
                ItemIr::Rule(root) if is_meant(root) => {
                    changed.insert(root.id);
                    false
                }
                _ => true,
            });
            return changed;
        }
        for root in self.roots_mut().filter(|root| is_meant(root)) {
            let id = root.id;
            match &update.change {
                Change::Remove => {}
                Change::Targets { additions, exclusions } => {
                    exclude(&mut root.targets, exclusions);
                    root.targets.extend(additions.iter().cloned());
                    root.chain.iter_mut().for_each(|link| exclude(&mut link.targets, exclusions));
                }
                Change::Actions { link, actions } => {
                    let rule = match link.checked_sub(1) {
                        None => Some(root),
                        Some(at) => root.chain.get_mut(at),
                    };
                    let Some(rule) = rule else { continue };
                    rule.update(ActionsIr::clone(actions));
                }
            }
            changed.insert(id);
        }
        changed
    }
}
