//! A store that ends with the process: demonstrations and tests.

use super::{Changeset, Resources, Revision, Store, StoreError};

#[derive(Debug, Default)]
pub struct MemoryStore {
    resources: Resources,
    log: Vec<Changeset>,
}

impl MemoryStore {
    fn revision(&self) -> Revision {
        self.log.len() as Revision
    }
}

impl Store for MemoryStore {
    fn load(&self) -> Result<(Revision, Resources), StoreError> {
        Ok((self.revision(), self.resources.clone()))
    }

    fn commit(&mut self, expected: Revision, changeset: &Changeset) -> Result<Revision, StoreError> {
        if expected != self.revision() {
            return Err(StoreError::Conflict { expected, found: self.revision() });
        }
        changeset.changes.iter().cloned().for_each(|change| change.apply(&mut self.resources));
        self.log.push(changeset.clone());
        Ok(self.revision())
    }

    fn changes(&self, from: Revision) -> Result<Vec<(Revision, Changeset)>, StoreError> {
        let numbered =
            self.log.iter().cloned().enumerate().map(|(index, changeset)| (index as Revision + 1, changeset));
        Ok(numbered.filter(|(revision, _)| *revision > from).collect())
    }
}
