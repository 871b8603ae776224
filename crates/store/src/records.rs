//! Rows of the AI log, in a file of their own: written in batches, the oldest let go by number and bytes.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, ToSql, params};

use super::call_totals::{CallTotals, TotalsBy, totals};
use super::gateway_rows;
use super::migration::{Migration, migrate};
use super::record_log::{Annotation, LogQuery, NewRecord, RecordLog, RecordReader};
use super::{StoreError, private_file};
use model::{AiLog, Counted};

/// Its name in the state folder.
const FILE: &str = "records.db";
/// Rows that are kept; the oldest go first.
const MAX_ROWS: u64 = 1_000_000;
/// Rows with the beginnings of their bodies take 2 to 3 KB: in pages of 4 KiB there is one in each, and to
/// write it costs a third more. Files that exist keep the size they have.
const PAGE_BYTES: u32 = 8 << 10;
/// Pages of the write-ahead log from which on who writes copies what is left of it into the file, and the
/// log begins again. Most was copied by then, beside those who write: while rows come such a copy is never
/// whole, for some came meanwhile.
const MAX_LOG_PAGES: u32 = (128 << 20) / PAGE_BYTES;
/// Pages that are given back at once.
const FREED_PAGES: u32 = 256;
/// How long a writer waits for another writer.
const BUSY: Duration = Duration::from_secs(30);

/// INVARIANT: steps are only added. Files from before versions were counted have the tables of the first.
const MIGRATIONS: &[Migration] = &[
    Migration::Sql(
        "CREATE TABLE IF NOT EXISTS ai_log (
        id TEXT PRIMARY KEY, gateway TEXT NOT NULL, created_at TEXT NOT NULL, row TEXT NOT NULL,
        request_head TEXT, response_head TEXT
    );
    CREATE INDEX IF NOT EXISTS ai_log_by_gateway ON ai_log (gateway, created_at);
    CREATE TABLE IF NOT EXISTS limit_counters (
        key TEXT NOT NULL, limit_bytes INTEGER NOT NULL, window INTEGER NOT NULL, used INTEGER NOT NULL,
        until INTEGER NOT NULL, PRIMARY KEY (key, window)
    ) WITHOUT ROWID;",
    ),
    Migration::Sql(gateway_rows::SCHEMA),
];

/// The log in `records.db`.
pub struct RecordStore {
    connection: Connection,
    max_rows: u64,
    max_bytes: u64,
    /// Whether the file was too large and still is not small enough.
    is_shrinking: bool,
}

impl RecordStore {
    /// Opens the log in a folder, which is made if it is missing. Past `max_bytes` a tenth of the rows goes,
    /// the oldest.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if the file cannot be made or read.
    pub fn open(folder: &Path, max_bytes: u64) -> Result<Self, StoreError> {
        let connection = Connection::open(private_file(folder, FILE)?).map_err(StoreError::from);
        let opened = connection.and_then(|connection| Self::on(connection, max_bytes));
        opened.map_err(|error| error.of_file(FILE))
    }

    fn on(mut connection: Connection, max_bytes: u64) -> Result<Self, StoreError> {
        connection.pragma_update(None, "wal_autocheckpoint", MAX_LOG_PAGES)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "page_size", PAGE_BYTES)?;
        connection.execute_batch(
            "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;",
        )?;
        migrate(&mut connection, MIGRATIONS)?;
        Ok(Self { connection, max_rows: MAX_ROWS, max_bytes, is_shrinking: false })
    }

    /// What limits counted that still matters, the oldest windows first.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if it cannot be read.
    pub fn counted(&self, now: Duration) -> Result<Vec<Counted>, StoreError> {
        let sql = "SELECT key, limit_bytes, window, used, until FROM limit_counters WHERE until > ?1 ORDER BY window";
        let mut statement = self.connection.prepare(sql)?;
        let counted = statement.query_map([milliseconds(now)], |row| {
            Ok(Counted {
                key: row.get(0)?,
                limit_bytes: usize::try_from(row.get::<_, i64>(1)?).unwrap_or(0),
                window: u64::try_from(row.get::<_, i64>(2)?).unwrap_or(0),
                used: u64::try_from(row.get::<_, i64>(3)?).unwrap_or(0),
                until: Duration::from_millis(u64::try_from(row.get::<_, i64>(4)?).unwrap_or(0)),
            })
        })?;
        Ok(counted.collect::<Result<Vec<_>, _>>()?)
    }

    /// Lets counters go that no longer matter.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if they cannot be deleted.
    pub fn forget_counted(&self, now: Duration) -> Result<(), StoreError> {
        self.connection.execute("DELETE FROM limit_counters WHERE until <= ?1", [milliseconds(now)])?;
        Ok(())
    }

    /// A row by its id.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if it cannot be read.
    pub fn get(&self, id: &str) -> Result<Option<AiLog>, StoreError> {
        let sql = "SELECT row, request_head, response_head FROM ai_log WHERE id = ?1";
        let found: Option<(String, Option<String>, Option<String>)> = self
            .connection
            .query_row(sql, [id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        Ok(found.and_then(|(row, request_head, response_head)| {
            let row = serde_json::from_str(&row).ok()?;
            Some(AiLog { request_head, response_head, ..row })
        }))
    }

    /// Lets up to `most` of the oldest rows go if there are too many, too many bytes of them, or if
    /// they are from before a moment. True if more may have to go.
    fn delete_oldest(&mut self, before: Option<&str>, most: usize) -> rusqlite::Result<bool> {
        let surplus = gateway_rows::all(&self.connection)?.saturating_sub(self.max_rows);
        let limit = if self.is_shrinking { self.max_bytes / 10 * 9 } else { self.max_bytes };
        self.is_shrinking = self.bytes()? > limit;
        let (most, before) = match (self.is_shrinking, surplus, before) {
            (true, ..) => (most, None),
            (false, 1.., _) => (usize::try_from(surplus).unwrap_or(most).min(most), None),
            (false, 0, Some(before)) => (most, Some(before)),
            (false, 0, None) => return Ok(false),
        };
        let deleted = self
            .connection
            .prepare_cached(
                "DELETE FROM ai_log WHERE rowid IN (SELECT rowid FROM ai_log ORDER BY rowid LIMIT ?1)
                     AND (?2 IS NULL OR created_at < ?2)",
            )?
            .execute(params![i64::try_from(most).unwrap_or(i64::MAX), before])?;
        if deleted > 0 {
            // Pages that hold nothing any more go back to the file system.
            let mut freed = self.connection.prepare(&format!("PRAGMA incremental_vacuum({FREED_PAGES})"))?;
            let mut pages = freed.query([])?;
            while pages.next()?.is_some() {}
        }
        Ok(deleted == most)
    }

    /// Bytes of the file that hold something.
    fn bytes(&self) -> rusqlite::Result<u64> {
        let number = |name: &str| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let pages = number("page_count")? - number("freelist_count")?;
        Ok(u64::try_from(pages * number("page_size")?).unwrap_or(0))
    }

    fn write(&mut self, rows: &[NewRecord], counted: &[Counted]) -> rusqlite::Result<usize> {
        let (transaction, mut unwanted) = (self.connection.transaction()?, 0);
        {
            let mut statement = transaction.prepare_cached(
                "INSERT OR IGNORE INTO ai_log (id, gateway, created_at, row, request_head, response_head)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            for NewRecord { log: row, cap } in rows {
                let gateway = format!("{}/{}", row.account_id, row.gateway_id);
                if let Some(cap) = cap
                    && !gateway_rows::make_room(&transaction, &gateway, *cap)?
                {
                    unwanted += 1;
                    continue;
                }
                // INVARIANT: a struct of texts and numbers always serialises.
                let text = serde_json::to_string(row).unwrap_or_default();
                let (request, response) = (&row.request_head, &row.response_head);
                statement.execute(params![row.id, gateway, row.created_at, text, request, response])?;
            }
            let mut statement = transaction.prepare_cached(
                "INSERT INTO limit_counters (key, limit_bytes, window, used, until) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (key, window) DO UPDATE SET used = min(used, ?6) + min(excluded.used, ?6)",
            )?;
            for Counted { key, limit_bytes, window, used, until } in counted {
                let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
                let (limit_bytes, until) = (whole(*limit_bytes as u64), milliseconds(*until));
                statement.execute(params![
                    key,
                    limit_bytes,
                    whole(*window),
                    whole(*used),
                    until,
                    i64::MAX / 2
                ])?;
            }
        }
        transaction.commit()?;
        Ok(unwanted)
    }
}

/// Since the epoch.
fn milliseconds(at: Duration) -> i64 {
    i64::try_from(at.as_millis()).unwrap_or(i64::MAX)
}

/// Conditions of a page, by position.
pub(super) const WHERE: &str =
    "gateway = ?1 AND created_at >= coalesce(?2, '') AND (?3 IS NULL OR created_at < ?3)
    AND (?4 IS NULL OR json_extract(row, '$.success') = ?4)
    AND (?5 IS NULL OR json_extract(row, '$.cached') = ?5)
    AND (?6 IS NULL OR json_extract(row, '$.provider') = ?6)
    AND (?7 IS NULL OR json_extract(row, '$.model') = ?7)";

/// The values of [`WHERE`].
pub(super) fn conditions(query: &LogQuery) -> [&dyn ToSql; 7] {
    let LogQuery { gateway, start_date, end_date, success, cached, provider, model, .. } = query;
    [gateway, start_date, end_date, success, cached, provider, model]
}

impl RecordStore {
    fn rows(&self, query: &LogQuery) -> rusqlite::Result<(Vec<AiLog>, u64)> {
        let conditions = &conditions(query)[..];
        let count = format!("SELECT count(*) FROM ai_log WHERE {WHERE}");
        let total: i64 = self.connection.prepare_cached(&count)?.query_row(conditions, |row| row.get(0))?;
        let order = if query.ascending { "ASC" } else { "DESC" };
        let skip = i64::try_from(query.skip).unwrap_or(i64::MAX);
        let page = format!(
            "SELECT row FROM ai_log WHERE {WHERE} ORDER BY created_at {order}, id {order} LIMIT {} OFFSET {skip}",
            query.limit
        );
        let mut statement = self.connection.prepare_cached(&page)?;
        let rows = statement.query_map(conditions, |row| row.get::<_, String>(0))?;
        let rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        let rows = rows.iter().filter_map(|row| serde_json::from_str(row).ok()).collect();
        Ok((rows, u64::try_from(total).unwrap_or(0)))
    }
}

impl RecordReader for RecordStore {
    fn page(&self, query: &LogQuery) -> Result<(Vec<AiLog>, u64), String> {
        self.rows(query).map_err(|error| error.to_string())
    }

    fn totals(&self, query: &LogQuery, by: &TotalsBy) -> Result<Vec<CallTotals>, String> {
        totals(&self.connection, query, by).map_err(|error| error.to_string())
    }

    fn get(&self, id: &str) -> Result<Option<AiLog>, String> {
        Self::get(self, id).map_err(|error| error.to_string())
    }

    fn annotate(&self, id: &str, annotation: &Annotation) -> Result<(), String> {
        let Annotation { feedback, score, metadata } = annotation;
        let sql = "UPDATE ai_log SET row = json_patch(row, json_object(
                'feedback', coalesce(?2, json_extract(row, '$.feedback')),
                'score', coalesce(?3, json_extract(row, '$.score'))))
             WHERE id = ?1";
        let written = self.connection.execute(sql, params![id, feedback, score]);
        let written = written.and_then(|_| match metadata {
            Some(metadata) => {
                let sql = "UPDATE ai_log SET row = json_set(row, '$.metadata', json(?2)) WHERE id = ?1";
                self.connection.execute(sql, params![id, metadata])
            }
            None => Ok(0),
        });
        written.map(|_| ()).map_err(|error| error.to_string())
    }

    fn delete(&self, query: &LogQuery) -> Result<u64, String> {
        let sql = format!(
            "DELETE FROM ai_log WHERE id IN (SELECT id FROM ai_log WHERE {WHERE} ORDER BY created_at LIMIT {})",
            query.limit
        );
        let deleted = self.connection.execute(&sql, &conditions(query)[..]);
        deleted.map(|deleted| deleted as u64).map_err(|error| error.to_string())
    }
}

impl RecordLog for RecordStore {
    fn append(&mut self, rows: &[NewRecord], counted: &[Counted]) -> Result<usize, String> {
        self.write(rows, counted).map_err(|error| error.to_string())
    }

    fn sweep(&mut self, before: Option<&str>, most: usize) -> Result<bool, String> {
        self.delete_oldest(before, most).map_err(|error| error.to_string())
    }

    /// Copies the write-ahead log into the file.
    fn tidy(&mut self) -> Result<(), String> {
        let copied = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        copied.map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: u32) -> AiLog {
        AiLog {
            id: format!("{id:026}"),
            request_head: Some("{}".to_owned()),
            created_at: format!("2026-01-01T00:{:02}:{:02}Z", id / 60, id % 60),
            account_id: "acme".to_owned(),
            gateway_id: "main".to_owned(),
            cost: Some(0.25),
            ..AiLog::default()
        }
    }

    fn new(rows: impl IntoIterator<Item = AiLog>) -> Vec<NewRecord> {
        rows.into_iter().map(NewRecord::from).collect()
    }

    fn listed(store: &RecordStore) -> Vec<AiLog> {
        let query = LogQuery { gateway: "acme/main".to_owned(), limit: 1000, ..LogQuery::default() };
        store.rows(&query).unwrap().0
    }

    #[test]
    fn counters_add_up_and_go_when_they_no_longer_matter() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = RecordStore::open(folder.path(), 1 << 30).unwrap();
        let counted = |window, used| Counted {
            key: "k".to_owned(),
            limit_bytes: 1,
            window,
            used,
            until: Duration::from_secs(10 * (window + 2)),
        };
        store.append(&[], &[counted(1, 5), counted(2, 7), counted(1, 6), counted(3, u64::MAX)]).unwrap();
        store.append(&[], &[counted(3, u64::MAX)]).unwrap();
        let found = store.counted(Duration::from_secs(30)).unwrap();
        assert_eq!(found[0], counted(2, 7));
        assert!(found[1].used > u64::MAX / 4, "{found:?}");
        assert_eq!(store.counted(Duration::ZERO).unwrap()[0], counted(1, 11));
        store.forget_counted(Duration::from_secs(30)).unwrap();
        assert_eq!(store.counted(Duration::ZERO).unwrap().len(), 2);
    }

    #[test]
    fn files_are_for_their_owner_and_give_space_back() {
        use std::os::unix::fs::PermissionsExt;
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("state");
        let mut store = RecordStore::open(&folder, 3_000_000).unwrap();
        let large = |id| AiLog { request_head: Some("x".repeat(100_000)), ..row(id) };
        store.append(&new((0..100).map(large)), &[]).unwrap();
        store.tidy().unwrap();
        let bytes = || std::fs::metadata(folder.join("records.db")).unwrap().len();
        let before = bytes();
        while store.sweep(None, 20).unwrap() {}
        while store.sweep(Some("2026-01-01T00:00:50Z"), 20).unwrap() {}
        store.tidy().unwrap();
        assert!(before > 9_000_000 && bytes() < 4_000_000, "{before} -> {}", bytes());
        for entry in std::fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o077, 0, "{entry:?}");
        }
        assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o077, 0);
    }

    #[test]
    fn rows_come_back_and_the_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = RecordStore::open(folder.path(), 1 << 30).unwrap();
        store.max_rows = 3;
        let rows: Vec<AiLog> = (0..5).map(row).collect();
        store.append(&new(rows.iter().cloned()), &[]).unwrap();
        assert_eq!(store.get(&rows[4].id).unwrap().as_ref(), Some(&rows[4]));
        let bare = |id| AiLog { request_head: None, ..row(id) };
        assert_eq!(listed(&store)[..2], [bare(4), bare(3)]);
        let sweep = |store: &mut RecordStore, before: Option<&str>| {
            while store.sweep(before, 2).unwrap() {}
        };
        sweep(&mut store, None);
        assert_eq!(listed(&store).len(), 3);
        let large = |id| AiLog { request_head: Some("x".repeat(100_000)), ..row(id) };
        (store.max_rows, store.max_bytes) = (1000, 5_000_000);
        store.append(&new((5..105).map(large)), &[]).unwrap();
        sweep(&mut store, None);
        assert!(store.bytes().unwrap() <= store.max_bytes / 10 * 9);
        let kept = listed(&store);
        assert!((35..45).contains(&kept.len()) && kept[0].id == row(104).id, "{}", kept.len());
        let (oldest, newest) = (kept.last().unwrap(), &kept[0]);
        sweep(&mut store, Some(&oldest.created_at));
        assert_eq!(listed(&store).len(), kept.len());
        sweep(&mut store, Some(&newest.created_at));
        assert_eq!(listed(&store), kept[..1]);
        let kept = &kept[..1];
        // What is copied need not be read from the log again.
        let pages = |store: &RecordStore| {
            let counts = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
            store.connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], counts).unwrap()
        };
        let (in_log, copied) = pages(&store);
        assert!(in_log > copied, "{copied} of {in_log}");
        store.tidy().unwrap();
        let (in_log, copied) = pages(&store);
        assert_eq!(in_log, copied);
        drop(store);
        assert_eq!(listed(&RecordStore::open(folder.path(), 1 << 30).unwrap()).len(), kept.len());
    }

    #[test]
    fn a_file_from_before_versions_were_counted_keeps_its_rows() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = RecordStore::open(folder.path(), 1 << 30).unwrap();
        store.append(&new([row(1)]), &[]).unwrap();
        let before = "DROP TRIGGER ai_log_came; DROP TRIGGER ai_log_went; DROP TABLE gateway_rows; PRAGMA user_version = 0;";
        store.connection.execute_batch(before).unwrap();
        drop(store);
        let store = RecordStore::open(folder.path(), 1 << 30).unwrap();
        assert_eq!(listed(&store).len(), 1);
        let version = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        let version = store.connection.pragma_query_value(None, "user_version", version).unwrap();
        assert_eq!(version, MIGRATIONS.len() as i64);
    }

    /// Without the lock, another process that reads the file and closes it may delete the write-ahead log, because it
    /// takes itself for the last one.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_second_connection_does_not_give_up_the_lock_of_the_first() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let is_locked = || {
            let inode = std::fs::metadata(folder.path().join("records.db")).unwrap().ino();
            let locks = std::fs::read_to_string("/proc/locks").unwrap();
            locks.lines().any(|lock| lock.contains("POSIX") && lock.contains(&format!(":{inode} ")))
        };
        // As in the server: one writes, one reads for the API.
        let mut store = RecordStore::open(folder.path(), 1 << 30).unwrap();
        assert!(is_locked());
        let _reader = RecordStore::open(folder.path(), 1 << 30).unwrap();
        store.append(&new([row(1)]), &[]).unwrap();
        assert!(is_locked());
    }
}
