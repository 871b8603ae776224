//! State on disk: a log of changesets with the resources that they add up to, and the log of AI calls.

mod backup;
mod call_totals;
mod change;
mod deprecation_log;
mod error;
mod event_columns;
mod event_search;
mod folder_lock;
mod gateway_rows;
mod install_key;
mod memory;
mod migration;
mod record_log;
mod records;
mod row;
mod security_log;
mod security_query;
mod security_schema;
mod sqlite;

use std::path::{Path, PathBuf};

use model::Resources;

pub use backup::{backup, restore};
pub use call_totals::{CallTotals, TotalsBy};
pub use change::{Change, Changeset, KeyedRequest};
pub use deprecation_log::{DeprecationLog, RowUses, UseCount, UseKey};
pub use error::StoreError;
pub use folder_lock::FolderLock;
pub use install_key::install_key;
pub use memory::MemoryStore;
pub use record_log::{Annotation, LogQuery, NewRecord, RecordLog, RecordReader};
pub use records::RecordStore;
pub use row::{record_history, record_of_row, ruleset_of_row, ruleset_row_id};
pub use security_log::{PastAlert, SecurityLog};
pub use security_query::{SecurityField, SecurityOwner, SecurityQuery};
pub use sqlite::{FILE, SqliteStore};

/// How many changesets have been accepted.
pub type Revision = u64;

/// A row of the current state as it once was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastRow {
    pub revision: Revision,
    /// RFC 3339.
    pub at: String,
    pub actor: String,
    /// JSON; `None` if the resource was deleted.
    pub body: Option<String>,
}

/// A revision that changed resources of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastChange {
    pub revision: Revision,
    /// RFC 3339.
    pub at: String,
    pub actor: String,
    /// Resources that it made or changed.
    pub put: u64,
    pub deleted: u64,
}

/// A log of changesets, and the resources that they add up to.
pub trait Store: Send {
    /// The newest revision, in one indexed read.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if the state cannot be read.
    fn revision(&self) -> Result<Revision, StoreError>;

    /// The resources and the revision they are at.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if the state cannot be read.
    fn load(&self) -> Result<(Revision, Resources), StoreError>;

    /// Appends a changeset, durably, if the log is at `expected`.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if it is at another revision, [`StoreError::Failed`] if it cannot be written;
    /// nothing has changed then.
    fn commit(&mut self, expected: Revision, changeset: &Changeset) -> Result<Revision, StoreError> {
        self.commit_all(expected, std::slice::from_ref(changeset))
    }

    /// Appends changesets in order, each with a revision of its own; all of them, or none.
    ///
    /// # Errors
    /// As of [`Store::commit`].
    fn commit_all(&mut self, expected: Revision, changesets: &[Changeset]) -> Result<Revision, StoreError>;

    /// What a resource was at each revision that changed it, the newest first.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if the state cannot be read.
    fn history(&self, kind: &str, id: &str) -> Result<Vec<PastRow>, StoreError>;

    /// The revisions that changed resources of a kind whose ids begin with a prefix, the newest first: `count` of them
    /// after those that are skipped, and how many there are.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if the state cannot be read.
    fn past_changes(
        &self,
        kind: &str,
        prefix: &str,
        skipped: u64,
        count: u64,
    ) -> Result<(Vec<PastChange>, u64), StoreError>;

    /// The resources of such ids as they were at a revision, each as JSON.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if the state cannot be read.
    fn rows_at(&self, kind: &str, prefix: &str, revision: Revision) -> Result<Vec<String>, StoreError>;

    /// The revision of the change that a request with an idempotency key made in the last 24 hours, and the hash of what it
    /// asked.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if the state cannot be read.
    fn keyed_request(&self, key: &str) -> Result<Option<(Revision, String)>, StoreError>;

    /// The changesets after a revision, in order.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if the state cannot be read.
    fn changes(&self, from: Revision) -> Result<Vec<(Revision, Changeset)>, StoreError>;
}

/// A file of a state folder, for its owner alone: prompts, answers and keys are in it. The folder is made if it
/// is missing.
///
/// # Errors
/// [`StoreError::Failed`] if either cannot be made.
fn private_file(folder: &Path, name: &str) -> Result<PathBuf, StoreError> {
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
    let failed = |what: &Path, error: &std::io::Error| {
        StoreError::Failed(format!("cannot make `{}`: {error}", what.display()))
    };
    let mut folders = std::fs::DirBuilder::new();
    folders.recursive(true).mode(0o700).create(folder).map_err(|error| failed(folder, &error))?;
    let path = folder.join(name);
    let mut options = std::fs::OpenOptions::new();
    // INVARIANT: a file that exists is not opened here. To close any handle of a file gives up all locks that this
    // process has on it (fcntl(2)). SQLite would have them no more, and another process that reads the database would
    // delete the write-ahead log that this one still writes.
    match options.write(true).create_new(true).mode(0o600).open(&path) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            // One that was made for others to read.
            let owned = std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600));
            owned.map_err(|error| failed(&path, &error))?;
        }
        Err(error) => return Err(failed(&path, &error)),
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use model::{AccountId, GatewayId, GatewayToken, TokenId};

    use super::*;

    fn put(id: &str) -> Changeset {
        let token = GatewayToken {
            id: TokenId::new(id),
            account: AccountId::new("acme"),
            gateway: GatewayId::new("main"),
            name: "ci".to_owned(),
            hash: "00".repeat(32),
            created_on: String::new(),
            expires_at: None,
            tools: None,
        };
        Changeset::new("test", vec![Change::PutToken { token }])
    }

    /// The same for every store.
    fn keeps_its_promises(store: &mut dyn Store) {
        assert_eq!(store.load().unwrap(), (0, Resources::default()));
        assert_eq!(store.commit(0, &put("a")).unwrap(), 1);
        assert_eq!(store.revision().unwrap(), 1);
        assert!(matches!(store.commit(0, &put("b")), Err(StoreError::Conflict { expected: 0, found: 1 })));
        assert_eq!(store.commit(1, &put("b")).unwrap(), 2);
        let delete = Changeset::new("test", vec![Change::DeleteToken { id: TokenId::new("a") }]);
        assert_eq!(store.commit(2, &delete).unwrap(), 3);
        let (revision, resources) = store.load().unwrap();
        assert_eq!(
            (revision, resources.tokens.keys().map(TokenId::as_str).collect::<Vec<_>>()),
            (3, vec!["b"])
        );
        assert_eq!(store.changes(1).unwrap(), vec![(2, put("b")), (3, delete)]);
        let history = store.history("gateway_token", "a").unwrap();
        let history: Vec<_> = history.iter().map(|row| (row.revision, row.body.is_some())).collect();
        assert_eq!(history, [(3, false), (1, true)]);
        let (past, total) = store.past_changes("gateway_token", "a", 0, 1).unwrap();
        assert_eq!((past.len(), total), (1, 2));
        assert_eq!((past[0].revision, past[0].put, past[0].deleted), (3, 0, 1));
        assert_eq!(store.past_changes("gateway_token", "b", 1, 9).unwrap(), (Vec::new(), 1));
        let ids = |revision| store.rows_at("gateway_token", "", revision).unwrap().len();
        assert_eq!((ids(0), ids(1), ids(2), ids(3)), (0, 1, 2, 1));
        let stale = store.commit_all(2, &[put("c"), put("d")]);
        assert!(matches!(stale, Err(StoreError::Conflict { expected: 2, found: 3 })), "{stale:?}");
        assert_eq!(store.commit_all(3, &[put("c"), put("d")]).unwrap(), 5);
        assert_eq!(store.load().unwrap().1.tokens.len(), 3);
    }

    #[test]
    fn memory() {
        keeps_its_promises(&mut MemoryStore::default());
    }

    #[test]
    fn sqlite_and_what_another_process_sees() {
        let folder = tempfile::tempdir().unwrap();
        keeps_its_promises(&mut SqliteStore::open(folder.path()).unwrap());
        let mut first = SqliteStore::open(folder.path()).unwrap();
        let mut second = SqliteStore::open(folder.path()).unwrap();
        assert_eq!(first.commit(5, &put("c")).unwrap(), 6);
        assert_eq!(second.load().unwrap().0, 6);
        assert!(second.commit(5, &put("d")).is_err());
    }
}
