//! A store that ends with the process: demonstrations and tests.

use super::{Changeset, Resources, Revision, Store, StoreError};

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

    fn commit(&mut self, expected: Revision, changeset: &Changeset) -> Result<Revision, StoreError> {
        let found = self.revision()?;
        if expected != found {
            return Err(StoreError::Conflict { expected, found });
        }
        changeset.apply(&mut self.resources, found + 1);
        self.log.push(changeset.clone());
        self.revision()
    }

    fn changes(&self, from: Revision) -> Result<Vec<(Revision, Changeset)>, StoreError> {
        let numbered =
            self.log.iter().cloned().enumerate().map(|(index, changeset)| (index as Revision + 1, changeset));
        Ok(numbered.filter(|(revision, _)| *revision > from).collect())
    }
}
