//! A store that ends with the process: demonstrations and tests.

use super::{Changeset, PastChange, PastRow, Resources, Revision, Store, StoreError};

#[derive(Debug, Default)]
pub struct MemoryStore {
    resources: Resources,
    log: Vec<Changeset>,
}

impl Store for MemoryStore {
    fn revision(&self) -> Result<Revision, StoreError> {
        Ok(self.log.len() as Revision)
    }

    fn load(&self) -> Result<(Revision, Resources), StoreError> {
        Ok((self.revision()?, self.resources.clone()))
    }

    fn commit_all(&mut self, expected: Revision, changesets: &[Changeset]) -> Result<Revision, StoreError> {
        let found = self.revision()?;
        if expected != found {
            return Err(StoreError::Conflict { expected, found });
        }
        for changeset in changesets {
            changeset.apply(&mut self.resources, self.log.len() as Revision + 1);
            self.log.push(changeset.clone());
        }
        self.revision()
    }

    fn history(&self, kind: &str, id: &str) -> Result<Vec<PastRow>, StoreError> {
        let mut history = Vec::new();
        for (revision, changeset) in self.changes(0)?.into_iter().rev() {
            for change in changeset.changes.iter().rev() {
                let row = change.row()?;
                if row.kind == kind && row.id == id {
                    let (actor, body) = (changeset.actor.clone(), row.body);
                    history.push(PastRow { revision, at: String::new(), actor, body });
                }
            }
        }
        Ok(history)
    }

    fn past_changes(
        &self,
        kind: &str,
        prefix: &str,
        skipped: u64,
        count: u64,
    ) -> Result<(Vec<PastChange>, u64), StoreError> {
        let mut past = Vec::new();
        for (revision, changeset) in self.changes(0)?.into_iter().rev() {
            let rows = changeset.changes.iter().map(crate::Change::row).collect::<Result<Vec<_>, _>>()?;
            let rows: Vec<_> =
                rows.iter().filter(|row| row.kind == kind && row.id.starts_with(prefix)).collect();
            let deleted = rows.iter().filter(|row| row.body.is_none()).count() as u64;
            if !rows.is_empty() {
                let put = rows.len() as u64 - deleted;
                past.push(PastChange { revision, at: String::new(), actor: changeset.actor, put, deleted });
            }
        }
        let total = past.len() as u64;
        let index = |number| usize::try_from(number).unwrap_or(usize::MAX);
        Ok((past.into_iter().skip(index(skipped)).take(index(count)).collect(), total))
    }

    fn rows_at(&self, kind: &str, prefix: &str, revision: Revision) -> Result<Vec<String>, StoreError> {
        let mut rows = std::collections::BTreeMap::new();
        for (_, changeset) in self.changes(0)?.into_iter().filter(|(at, _)| *at <= revision) {
            for change in &changeset.changes {
                let row = change.row()?;
                if row.kind == kind && row.id.starts_with(prefix) {
                    rows.insert(row.id, row.body);
                }
            }
        }
        Ok(rows.into_values().flatten().collect())
    }

    fn keyed_request(&self, key: &str) -> Result<Option<(Revision, String)>, StoreError> {
        let requests = self.log.iter().enumerate().rev().filter_map(|(index, changeset)| {
            let request = changeset.request.as_ref()?;
            Some((index as Revision + 1, request))
        });
        let mut known = requests.filter(|(_, request)| request.key == key);
        Ok(known.next().map(|(revision, request)| (revision, request.question.clone())))
    }

    fn changes(&self, from: Revision) -> Result<Vec<(Revision, Changeset)>, StoreError> {
        let numbered =
            self.log.iter().cloned().enumerate().map(|(index, changeset)| (index as Revision + 1, changeset));
        Ok(numbered.filter(|(revision, _)| *revision > from).collect())
    }
}
