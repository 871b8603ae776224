//! Rows of the AI log, in a file of their own: written in batches, the oldest let go by number and bytes.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use super::StoreError;
use crate::ai::recorder::{LogQuery, RecordLog, RecordReader};
use crate::model::AiLog;

/// Rows that are kept; the oldest go first.
const MAX_ROWS: u64 = 1_000_000;
/// Bytes that they may take; past that a tenth of them goes, the oldest.
const MAX_BYTES: u64 = 4 << 30;
/// Appended rows, and bytes of them, after which the oldest are looked for.
const ROWS_BETWEEN_SWEEPS: usize = 10_000;
const BYTES_BETWEEN_SWEEPS: usize = 64 << 20;
/// Pages of the write-ahead log (4 KiB) from which on it is copied into the file also while rows come: a
/// copy takes the processor for tens of milliseconds, and the longer the log, the more of its pages are
/// copied once in place of many times.
const MAX_LOG_PAGES: u32 = 16 << 10;

/// The log in `records.db`.
pub struct RecordStore {
    connection: Connection,
    rows_since_sweep: usize,
    bytes_since_sweep: usize,
    max_rows: u64,
    max_bytes: u64,
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
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 5000;
                 CREATE TABLE IF NOT EXISTS ai_log (
                     id TEXT PRIMARY KEY, gateway TEXT NOT NULL, created_at TEXT NOT NULL, row TEXT NOT NULL,
                     request_head TEXT, response_head TEXT
                 );
                 CREATE INDEX IF NOT EXISTS ai_log_by_gateway ON ai_log (gateway, created_at);",
        )?;
        Ok(Self {
            connection,
            rows_since_sweep: 0,
            bytes_since_sweep: 0,
            max_rows: MAX_ROWS,
            max_bytes: MAX_BYTES,
        })
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

    /// Lets the oldest rows go where there are too many, or too many bytes of them.
    fn sweep(&mut self) -> rusqlite::Result<()> {
        (self.rows_since_sweep, self.bytes_since_sweep) = (0, 0);
        self.connection.execute(
            "DELETE FROM ai_log WHERE id <= (SELECT id FROM ai_log ORDER BY id DESC LIMIT 1 OFFSET ?1)",
            [i64::try_from(self.max_rows).unwrap_or(i64::MAX)],
        )?;
        if self.bytes()? > self.max_bytes {
            // What is freed is written over: the file does not grow again until it is full.
            self.connection.execute(
                "DELETE FROM ai_log WHERE id <= (SELECT id FROM ai_log ORDER BY id LIMIT 1
                     OFFSET (SELECT count(*) / 10 FROM ai_log))",
                [],
            )?;
        }
        Ok(())
    }

    /// Lets rows go that are older than a moment, the oldest first.
    fn delete_before(&mut self, moment: &str) -> rusqlite::Result<()> {
        // Ids ascend with time; a batch at a time, so that nobody waits long for the file.
        let batch = format!(
            "DELETE FROM ai_log
             WHERE id IN (SELECT id FROM ai_log ORDER BY id LIMIT {ROWS_BETWEEN_SWEEPS}) AND created_at < ?1"
        );
        while self.connection.execute(&batch, [moment])? == ROWS_BETWEEN_SWEEPS {}
        Ok(())
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
                let bodies = [request, response].into_iter().flatten().map(String::len).sum::<usize>();
                self.bytes_since_sweep += text.len() + bodies;
            }
        }
        transaction.commit()?;
        self.rows_since_sweep += rows.len();
        let is_due =
            self.rows_since_sweep >= ROWS_BETWEEN_SWEEPS || self.bytes_since_sweep >= BYTES_BETWEEN_SWEEPS;
        if is_due { self.sweep() } else { Ok(()) }
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

    fn expire(&mut self, before: &str) -> Result<(), String> {
        self.delete_before(before).map_err(|error| error.to_string())
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
        store.sweep().unwrap();
        assert_eq!(store.since("", 10).unwrap().len(), 3);
        let large = |id| AiLog { request_head: Some("x".repeat(100_000)), ..row(id) };
        (store.max_rows, store.max_bytes) = (1000, 5_000_000);
        store.append(&(5..105).map(large).collect::<Vec<_>>()).unwrap();
        while store.bytes().unwrap() > store.max_bytes {
            store.sweep().unwrap();
        }
        let kept = store.since("", 1000).unwrap();
        assert!((30..60).contains(&kept.len()) && kept[0].id == row(104).id, "{}", kept.len());
        let (oldest, newest) = (kept.last().unwrap(), &kept[0]);
        store.delete_before(&oldest.created_at).unwrap();
        assert_eq!(store.since("", 1000).unwrap().len(), kept.len());
        store.delete_before(&newest.created_at).unwrap();
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
