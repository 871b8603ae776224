//! Who used what ends, and how often, in a file of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, params};

use super::migration::{Migration, migrate};
use super::{StoreError, private_file};

/// How long a writer waits for another writer.
const BUSY: Duration = Duration::from_secs(30);
/// Most entries; those whose last use is longest ago go.
const MAX_ROWS: i64 = 20_000;

/// INVARIANT: steps are only added.
const MIGRATIONS: &[Migration] = &[Migration::Sql(
    "CREATE TABLE uses (
        row TEXT NOT NULL, account TEXT NOT NULL, token TEXT NOT NULL, agent TEXT NOT NULL, count INTEGER NOT NULL,
        last TEXT NOT NULL, PRIMARY KEY (row, account, token, agent)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX uses_by_last ON uses (last);",
)];

/// Whose uses are counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UseKey {
    /// The row of the calendar.
    pub row: String,
    /// Empty for what is of no account.
    pub account: String,
    /// The actor, as the history names them.
    pub token: String,
    pub agent: String,
}

/// How often something was used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UseCount {
    pub uses: u64,
    /// When last (RFC 3339).
    pub last: String,
}

/// The uses of one row.
#[derive(Clone, Debug, Default)]
pub struct RowUses<'u> {
    pub total: u64,
    /// The last first, as [`DeprecationLog::all`] has them.
    pub by: Vec<(&'u UseKey, &'u UseCount)>,
}

impl<'u> RowUses<'u> {
    /// Uses by their rows.
    pub fn by_row(uses: impl IntoIterator<Item = &'u (UseKey, UseCount)>) -> BTreeMap<&'u str, Self> {
        let mut rows: BTreeMap<&str, Self> = BTreeMap::new();
        for (key, count) in uses {
            let row = rows.entry(&key.row).or_default();
            row.total += count.uses;
            row.by.push((key, count));
        }
        rows
    }

    /// When it was last used (RFC 3339).
    pub fn last(&self) -> Option<&'u str> {
        self.by.first().map(|(_, count)| count.last.as_str())
    }
}

/// The counts in `deprecations.db`.
pub struct DeprecationLog {
    connection: Connection,
}

impl DeprecationLog {
    /// Its name in the state folder.
    pub const FILE: &str = "deprecations.db";

    /// Opens the log in a folder, which is made if it is missing.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if the file cannot be made or read.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        Self::at(&private_file(folder, Self::FILE)?).map_err(|error| error.of_file(Self::FILE))
    }

    fn at(path: &Path) -> Result<Self, StoreError> {
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(BUSY)?;
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
        migrate(&mut connection, MIGRATIONS)?;
        Ok(Self { connection })
    }

    /// Renames a file that is no database, so that counts begin anew: nobody need go without an edge for them. Returns its new
    /// name if there was one.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if it cannot be renamed.
    pub fn set_damaged_aside(folder: &Path) -> Result<Option<PathBuf>, StoreError> {
        let path = folder.join(Self::FILE);
        if !path.exists() {
            return Ok(None);
        }
        let looked = Connection::open(&path).and_then(|connection| {
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
        });
        let is_damaged = looked.is_err_and(|error| {
            let code = error.sqlite_error_code();
            matches!(code, Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt))
        });
        if !is_damaged {
            return Ok(None);
        }
        let aside = folder.join(format!("{}.damaged", Self::FILE));
        let failed = |error: std::io::Error| StoreError::Failed(error.to_string()).of_file(Self::FILE);
        std::fs::rename(&path, &aside).map_err(failed)?;
        // What belongs to it would be taken for that of the new file.
        for part in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(folder.join(format!("{}{part}", Self::FILE)));
        }
        Ok(Some(aside))
    }

    /// Adds counts to those that are there.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if they cannot be written; none of them is then.
    pub fn add(&mut self, counts: &BTreeMap<UseKey, UseCount>) -> Result<(), StoreError> {
        if counts.is_empty() {
            return Ok(());
        }
        let transaction = self.connection.transaction()?;
        {
            let mut add = transaction.prepare_cached(
                "INSERT INTO uses (row, account, token, agent, count, last) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT DO UPDATE SET count = count + excluded.count, last = max(last, excluded.last)",
            )?;
            for (UseKey { row, account, token, agent }, UseCount { uses, last }) in counts {
                let uses = i64::try_from(*uses).unwrap_or(i64::MAX);
                add.execute(params![row, account, token, agent, uses, last])?;
            }
        }
        transaction.execute(
            "DELETE FROM uses WHERE last < (SELECT last FROM uses ORDER BY last DESC LIMIT 1 OFFSET ?1)",
            [MAX_ROWS],
        )?;
        transaction.commit()?;
        Ok(())
    }

    /// All counts, the last first.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if they cannot be read.
    pub fn all(&self) -> Result<Vec<(UseKey, UseCount)>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT row, account, token, agent, count, last FROM uses ORDER BY last DESC, row, token, agent",
        )?;
        let rows = statement.query_map([], |found| {
            let key = UseKey {
                row: found.get(0)?,
                account: found.get(1)?,
                token: found.get(2)?,
                agent: found.get(3)?,
            };
            let uses = u64::try_from(found.get::<_, i64>(4)?).unwrap_or(0);
            Ok((key, UseCount { uses, last: found.get(5)? }))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_and_the_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = DeprecationLog::open(folder.path()).unwrap();
        let key = |nth: usize| UseKey {
            row: "a".to_owned(),
            account: String::new(),
            token: "t".to_owned(),
            agent: nth.to_string(),
        };
        let count = |uses, last: usize| UseCount { uses, last: format!("2026-01-01T00:00:{last:06}Z") };
        log.add(&[(key(1), count(2, 5))].into()).unwrap();
        log.add(&[(key(1), count(3, 4)), (key(2), count(1, 6))].into()).unwrap();
        drop(log);
        let mut log = DeprecationLog::open(folder.path()).unwrap();
        assert_eq!(log.all().unwrap(), [(key(2), count(1, 6)), (key(1), count(5, 5))]);
        let many: BTreeMap<_, _> = (0..20_100).map(|nth| (key(nth), count(1, nth + 10))).collect();
        log.add(&many).unwrap();
        let all = log.all().unwrap();
        assert!(all.len() <= 20_001 && all[0].0 == key(20_099), "{}", all.len());
    }
}
