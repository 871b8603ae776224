//! Rows of the AI log, in a file of their own: written in batches, the oldest let go by number and bytes.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

use super::StoreError;
use crate::ai::recorder::{LogQuery, RecordLog, RecordReader};
use crate::model::AiLog;

/// Rows that are kept; the oldest go first.
const MAX_ROWS: u64 = 1_000_000;
/// Bytes that they may take; past that a tenth of them goes, the oldest.
const MAX_BYTES: u64 = 4 << 30;
/// Rows with the beginnings of their bodies take 2 to 3 KB: in pages of 4 KiB there is one in each, and to
/// write it costs a third more. Files that exist keep the size they have.
const PAGE_BYTES: u32 = 8 << 10;
/// Pages of the write-ahead log from which on who writes copies what is left of it into the file, and the
/// log begins anew. Most was copied by then, beside those who write: while rows come such a copy is never
/// whole, for some came meanwhile.
const MAX_LOG_PAGES: u32 = (128 << 20) / PAGE_BYTES;
/// How long one who writes waits for another.
const BUSY: Duration = Duration::from_secs(30);

/// The log in `records.db`.
pub struct RecordStore {
    connection: Connection,
    max_rows: u64,
    max_bytes: u64,
    /// Whether the file was too large and still is not small enough.
    is_shrinking: bool,
}

impl RecordStore {
    /// Opens the log in a folder, which is made where it is missing.
    ///
    /// # Errors
    /// [`StoreError::Failed`] where the file cannot be made or read.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        std::fs::create_dir_all(folder).map_err(|error| StoreError::Failed(error.to_string()))?;
        Self::on(Connection::open(folder.join("records.db"))?)
    }

    fn on(connection: Connection) -> Result<Self, StoreError> {
        connection.pragma_update(None, "wal_autocheckpoint", MAX_LOG_PAGES)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "page_size", PAGE_BYTES)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
                 CREATE TABLE IF NOT EXISTS ai_log (
                     id TEXT PRIMARY KEY, gateway TEXT NOT NULL, created_at TEXT NOT NULL, row TEXT NOT NULL,
                     request_head TEXT, response_head TEXT
                 );
                 CREATE INDEX IF NOT EXISTS ai_log_by_gateway ON ai_log (gateway, created_at);",
        )?;
        Ok(Self { connection, max_rows: MAX_ROWS, max_bytes: MAX_BYTES, is_shrinking: false })
    }

    /// Rows of a moment and later, the newest first, without their bodies.
    ///
    /// # Errors
    /// [`StoreError::Failed`] where they cannot be read.
    pub fn since(&self, created_at: &str, limit: usize) -> Result<Vec<AiLog>, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT row FROM ai_log WHERE created_at >= ?1 ORDER BY id DESC LIMIT ?2")?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = statement
            .query_map(params![created_at, limit], |row| row.get::<_, String>(0))?
            .collect::<Result<Vec<_>, _>>()?;
        Ok(rows.iter().filter_map(|row| serde_json::from_str(row).ok()).collect())
    }

    /// A row by its id.
    ///
    /// # Errors
    /// [`StoreError::Failed`] where it cannot be read.
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

    /// Lets up to `most` of the oldest rows go where there are too many, too many bytes of them, or where
    /// they are from before a moment. True where more may have to go.
    fn delete_oldest(&mut self, before: Option<&str>, most: usize) -> rusqlite::Result<bool> {
        // Row ids ascend, and the oldest go first: there are no gaps worth counting.
        let sql = "SELECT coalesce((SELECT max(rowid) FROM ai_log) - (SELECT min(rowid) FROM ai_log) + 1, 0)";
        let rows: i64 = self.connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        let surplus = u64::try_from(rows).unwrap_or(0).saturating_sub(self.max_rows);
        // What is freed is written over: the file does not grow again until it is full.
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
        Ok(deleted == most)
    }

    /// Bytes of the file that hold something.
    fn bytes(&self) -> rusqlite::Result<u64> {
        let number = |name: &str| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let pages = number("page_count")? - number("freelist_count")?;
        Ok(u64::try_from(pages * number("page_size")?).unwrap_or(0))
    }

    fn write(&mut self, rows: &[AiLog]) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        {
            let mut statement = transaction.prepare_cached(
                "INSERT OR REPLACE INTO ai_log (id, gateway, created_at, row, request_head, response_head)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            for row in rows {
                let gateway = format!("{}/{}", row.account_id, row.gateway_id);
                // INVARIANT: a struct of texts and numbers always serialises.
                let text = serde_json::to_string(row).unwrap_or_default();
                let (request, response) = (&row.request_head, &row.response_head);
                statement.execute(params![row.id, gateway, row.created_at, text, request, response])?;
            }
        }
        transaction.commit()
    }
}

/// Conditions of a page, by position.
const WHERE: &str = "gateway = ?1 AND created_at >= coalesce(?2, '') AND (?3 IS NULL OR created_at < ?3)
    AND (?4 IS NULL OR json_extract(row, '$.success') = ?4)
    AND (?5 IS NULL OR json_extract(row, '$.cached') = ?5)
    AND (?6 IS NULL OR json_extract(row, '$.provider') = ?6)
    AND (?7 IS NULL OR json_extract(row, '$.model') = ?7)";

impl RecordStore {
    fn rows(&self, query: &LogQuery) -> rusqlite::Result<(Vec<AiLog>, u64)> {
        let conditions = params![
            query.gateway,
            query.start_date,
            query.end_date,
            query.success,
            query.cached,
            query.provider,
            query.model
        ];
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

    fn get(&self, id: &str) -> Result<Option<AiLog>, String> {
        Self::get(self, id).map_err(|error| error.to_string())
    }
}

impl RecordLog for RecordStore {
    fn append(&mut self, rows: &[AiLog]) -> Result<(), String> {
        self.write(rows).map_err(|error| error.to_string())
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

    #[test]
    fn rows_come_back_and_the_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = RecordStore::open(folder.path()).unwrap();
        store.max_rows = 3;
        let rows: Vec<AiLog> = (0..5).map(row).collect();
        store.append(&rows).unwrap();
        assert_eq!(store.get(&rows[4].id).unwrap().as_ref(), Some(&rows[4]));
        let bare = |id| AiLog { request_head: None, ..row(id) };
        assert_eq!(store.since("2026-01-01T00:00:03Z", 10).unwrap(), [bare(4), bare(3)]);
        let sweep = |store: &mut RecordStore, before: Option<&str>| {
            while store.sweep(before, 2).unwrap() {}
        };
        sweep(&mut store, None);
        assert_eq!(store.since("", 10).unwrap().len(), 3);
        let large = |id| AiLog { request_head: Some("x".repeat(100_000)), ..row(id) };
        (store.max_rows, store.max_bytes) = (1000, 5_000_000);
        store.append(&(5..105).map(large).collect::<Vec<_>>()).unwrap();
        sweep(&mut store, None);
        assert!(store.bytes().unwrap() <= store.max_bytes / 10 * 9);
        let kept = store.since("", 1000).unwrap();
        assert!((35..45).contains(&kept.len()) && kept[0].id == row(104).id, "{}", kept.len());
        let (oldest, newest) = (kept.last().unwrap(), &kept[0]);
        sweep(&mut store, Some(&oldest.created_at));
        assert_eq!(store.since("", 1000).unwrap().len(), kept.len());
        sweep(&mut store, Some(&newest.created_at));
        assert_eq!(store.since("", 1000).unwrap(), kept[..1]);
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
        assert_eq!(RecordStore::open(folder.path()).unwrap().since("", 1000).unwrap().len(), kept.len());
    }
}
