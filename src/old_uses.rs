//! Who used what ends, counted: in memory first, and from time to time in the state folder.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use store::{DeprecationLog, StoreError, UseCount, UseKey};

/// Most entries that are held until they are written; what comes beyond them is counted without its user agent.
const MAX_HELD: usize = 4_096;
/// The user agent of those that are not told apart.
const OTHER: &str = "(others)";

/// Counts of uses. All clones share them.
#[derive(Clone)]
pub struct OldUses {
    held: Arc<Mutex<BTreeMap<UseKey, UseCount>>>,
    log: Arc<Mutex<DeprecationLog>>,
}

impl OldUses {
    pub fn new(log: DeprecationLog) -> Self {
        Self { held: Arc::default(), log: Arc::new(Mutex::new(log)) }
    }

    /// Counts one use, at a time (RFC 3339).
    pub fn count(&self, mut key: UseKey, at: &str) {
        let mut held = self.held.lock();
        if held.len() >= MAX_HELD && !held.contains_key(&key) {
            OTHER.clone_into(&mut key.agent);
        }
        let count = held.entry(key).or_default();
        count.uses += 1;
        at.clone_into(&mut count.last);
    }

    /// Writes what is held. It waits for a disk.
    ///
    /// # Errors
    /// If it cannot be written; it is held on then.
    pub fn write(&self) -> Result<(), StoreError> {
        let taken = std::mem::take(&mut *self.held.lock());
        let Err(error) = self.log.lock().add(&taken) else { return Ok(()) };
        let mut held = self.held.lock();
        for (key, count) in taken {
            let known = held.entry(key).or_default();
            known.uses += count.uses;
            if known.last < count.last {
                known.last = count.last;
            }
        }
        Err(error)
    }

    /// All uses, the last first. It waits for a disk.
    ///
    /// # Errors
    /// If they cannot be written or read.
    pub fn all(&self) -> Result<Vec<(UseKey, UseCount)>, StoreError> {
        self.write()?;
        self.log.lock().all()
    }
}
