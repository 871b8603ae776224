//! The log in a SQLite file: crash-safe, and open to `sqlite3` and to other processes.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior, params};

use super::{Changeset, Resources, Revision, Store, StoreError, private_file};

/// The file in the state folder.
pub const FILE: &str = "portcullis.db";
const BUSY: Duration = Duration::from_secs(5);

/// Schemas by version; `PRAGMA user_version` counts those applied.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE changesets (
        revision INTEGER PRIMARY KEY,
        at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
        changeset TEXT NOT NULL
    ) STRICT;
"];

#[derive(Debug)]
pub struct SqliteStore {
    connection: Connection,
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl SqliteStore {
    /// Opens the store in a folder, which is made where it does not exist.
    ///
    /// # Errors
    /// Where the file cannot be made or read, or is of a later version.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let mut connection = Connection::open(private_file(folder, FILE)?)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        migrate(&mut connection)?;
        Ok(Self { connection })
    }

    fn revision(connection: &Connection) -> Result<Revision, StoreError> {
        let newest: Option<i64> =
            connection.query_row("SELECT max(revision) FROM changesets", [], |row| row.get(0))?;
        Ok(newest.and_then(|revision| Revision::try_from(revision).ok()).unwrap_or(0))
    }
}

fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: usize =
        transaction.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0))? as usize;
    if version > MIGRATIONS.len() {
        return Err(StoreError::Failed(format!("it was written by a later version (schema {version})")));
    }
    for migration in MIGRATIONS.iter().skip(version) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "user_version", MIGRATIONS.len() as u32)?;
    transaction.commit()?;
    Ok(())
}

impl Store for SqliteStore {
    fn load(&self) -> Result<(Revision, Resources), StoreError> {
        let mut resources = Resources::default();
        let mut newest = 0;
        for (revision, changeset) in self.changes(0)? {
            newest = revision;
            changeset.changes.into_iter().for_each(|change| change.apply(&mut resources));
        }
        Ok((newest, resources))
    }

    fn commit(&mut self, expected: Revision, changeset: &Changeset) -> Result<Revision, StoreError> {
        let text = serde_json::to_string(changeset).map_err(|error| StoreError::Failed(error.to_string()))?;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found = Self::revision(&transaction)?;
        if found != expected {
            return Err(StoreError::Conflict { expected, found });
        }
        let next = expected + 1;
        let number = i64::try_from(next).map_err(|error| StoreError::Failed(error.to_string()))?;
        transaction
            .execute("INSERT INTO changesets (revision, changeset) VALUES (?1, ?2)", params![number, text])?;
        transaction.commit()?;
        Ok(next)
    }

    fn changes(&self, from: Revision) -> Result<Vec<(Revision, Changeset)>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT revision, changeset FROM changesets WHERE revision > ?1 ORDER BY revision",
        )?;
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        let rows =
            statement.query_map([from], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
        let mut changes = Vec::new();
        for row in rows {
            let (revision, text) = row?;
            let changeset = serde_json::from_str(&text).map_err(|error| {
                StoreError::Failed(format!("revision {revision} cannot be read: {error}"))
            })?;
            changes.push((Revision::try_from(revision).unwrap_or(0), changeset));
        }
        Ok(changes)
    }
}
