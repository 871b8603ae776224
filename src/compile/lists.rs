//! Named lists to the sets that expressions ask.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Compiling;
use crate::snapshot::CompiledList;
use diagnostic::{Code, Diagnostic};
use expression::{NamedSet, NamedSets};
use model::AccountId;

impl Compiling<'_> {
    /// Compiles all lists; those that are as before are taken over, because they may be long.
    pub(super) fn lists(&mut self) {
        let previous = self.inputs.previous.map(|previous| &previous.lists);
        for (id, list) in &self.inputs.resources.lists {
            let known = previous.and_then(|lists| lists.get(id));
            let known =
                known.filter(|known| Arc::ptr_eq(&known.source, list) || known.source.value == list.value);
            let compiled = known.cloned().unwrap_or_else(|| CompiledList {
                set: NamedSet::of(list.kind, list.items.iter().map(|item| item.value.as_str())),
                source: Arc::clone(list),
            });
            if known.is_none() {
                self.accounts_with_other_lists.insert(list.account.clone());
            }
            let sets = self.sets.entry(list.account.clone()).or_default();
            let clash = sets.has(&list.name);
            sets.insert(list.name.clone(), compiled.set.clone());
            if clash {
                let message =
                    format!("the account `{}` has two lists `{}`; rename one", list.account, list.name);
                let diagnostic = Diagnostic::error(Code::ConfConflict, message);
                self.diagnostics.push(match list.place() {
                    Some(place) => diagnostic.at(place.clone()),
                    None => diagnostic,
                });
            }
            self.compiled_lists.insert(id.clone(), compiled);
        }
        let gone = previous.into_iter().flatten().filter(|(id, _)| !self.compiled_lists.contains_key(*id));
        let gone: BTreeSet<AccountId> = gone.map(|(_, list)| list.source.account.clone()).collect();
        self.accounts_with_other_lists.extend(gone);
    }

    /// The sets that rules of an account and its zones can name.
    pub(super) fn sets_of(&self, account: &AccountId) -> NamedSets {
        self.sets.get(account).cloned().unwrap_or_default().with_places(self.inputs.conf.geo.kinds())
    }
}
