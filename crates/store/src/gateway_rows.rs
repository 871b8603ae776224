//! How many rows of AI calls each gateway has, and what becomes of those that are more than it keeps.

use rusqlite::{Connection, OptionalExtension as _, params};

use model::{LogCap, LogStrategy};

/// Counts by gateway, which follow each row that comes or goes.
pub(super) const SCHEMA: &str = "
    CREATE TABLE gateway_rows (gateway TEXT PRIMARY KEY, rows INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO gateway_rows SELECT gateway, count(*) FROM ai_log GROUP BY gateway;
    CREATE TRIGGER ai_log_came AFTER INSERT ON ai_log BEGIN
        INSERT OR IGNORE INTO gateway_rows VALUES (new.gateway, 0);
        UPDATE gateway_rows SET rows = rows + 1 WHERE gateway = new.gateway;
    END;
    CREATE TRIGGER ai_log_went AFTER DELETE ON ai_log BEGIN
        UPDATE gateway_rows SET rows = rows - 1 WHERE gateway = old.gateway;
        DELETE FROM gateway_rows WHERE gateway = old.gateway AND rows < 1;
    END;";

/// Rows that go for each one that comes, at most: a lower cap is reached step by step.
const TRIMMED_PER_ROW: u64 = 8;

/// Rows of all gateways.
pub(super) fn all(connection: &Connection) -> rusqlite::Result<u64> {
    let mut sum = connection.prepare_cached("SELECT coalesce(sum(rows), 0) FROM gateway_rows")?;
    Ok(u64::try_from(sum.query_row([], |row| row.get::<_, i64>(0))?).unwrap_or(0))
}

fn rows(connection: &Connection, gateway: &str) -> rusqlite::Result<u64> {
    let mut known = connection.prepare_cached("SELECT rows FROM gateway_rows WHERE gateway = ?1")?;
    let rows: Option<i64> = known.query_row([gateway], |row| row.get(0)).optional()?;
    Ok(rows.and_then(|rows| u64::try_from(rows).ok()).unwrap_or(0))
}

/// Makes room for a row of a gateway, if its strategy allows that; whether there is room.
pub(super) fn make_room(connection: &Connection, gateway: &str, cap: LogCap) -> rusqlite::Result<bool> {
    let surplus = (rows(connection, gateway)? + 1).saturating_sub(cap.rows);
    if surplus == 0 {
        return Ok(true);
    }
    if cap.strategy == LogStrategy::StopInserting {
        return Ok(false);
    }
    connection
        .prepare_cached(
            "DELETE FROM ai_log WHERE rowid IN
                 (SELECT rowid FROM ai_log WHERE gateway = ?1 ORDER BY created_at, rowid LIMIT ?2)",
        )?
        .execute(params![gateway, surplus.min(TRIMMED_PER_ROW) as i64])?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LogQuery, NewRecord, RecordLog as _, RecordReader as _, RecordStore};
    use model::AiLog;

    fn call(gateway: &str, id: u32, cap: Option<LogCap>) -> NewRecord {
        let log = AiLog {
            id: format!("{gateway}{id:020}"),
            created_at: format!("2026-01-01T00:{:02}:{:02}Z", id / 60, id % 60),
            account_id: "acme".to_owned(),
            gateway_id: gateway.to_owned(),
            ..AiLog::default()
        };
        NewRecord { log, cap }
    }

    /// The calls of a gateway that are kept, the oldest first.
    fn kept(store: &RecordStore, gateway: &str) -> Vec<String> {
        let query = LogQuery {
            gateway: format!("acme/{gateway}"),
            limit: 1_000,
            ascending: true,
            ..LogQuery::default()
        };
        store.page(&query).unwrap().0.into_iter().map(|log| log.id).collect()
    }

    #[test]
    fn a_gateway_keeps_as_many_rows_as_it_says() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = RecordStore::open(folder.path(), 1 << 30).unwrap();
        let cap = |rows, strategy| Some(LogCap { rows, strategy });
        let ids = |gateway: &str, ids: std::ops::Range<u32>| -> Vec<String> {
            ids.map(|id| call(gateway, id, None).log.id).collect()
        };
        let (oldest_go, stop) = (cap(3, LogStrategy::DeleteOldest), cap(3, LogStrategy::StopInserting));
        // Each batch has rows of all of them: what one gateway keeps is nothing to another.
        let mut unwanted = 0;
        for ten in 0..3 {
            let rows: Vec<NewRecord> = (10 * ten..10 * ten + 10)
                .flat_map(|id| [call("a", id, oldest_go), call("b", id, stop), call("c", id, None)])
                .collect();
            unwanted += store.append(&rows, &[]).unwrap();
        }
        assert_eq!(unwanted, 27);
        assert_eq!(kept(&store, "a"), ids("a", 27..30));
        assert_eq!(kept(&store, "b"), ids("b", 0..3));
        assert_eq!(kept(&store, "c"), ids("c", 0..30));
        // Rows that go for another reason make room.
        let one = LogQuery { gateway: "acme/b".to_owned(), limit: 1, ..LogQuery::default() };
        assert_eq!(store.delete(&one), Ok(1));
        assert_eq!(store.append(&[call("b", 30, stop), call("b", 31, stop)], &[]), Ok(1));
        assert_eq!(kept(&store, "b"), [ids("b", 1..3), ids("b", 30..31)].concat());
        // A lower cap is reached as rows come.
        let lower = cap(2, LogStrategy::DeleteOldest);
        for id in 30..34 {
            store.append(&[call("c", id, lower)], &[]).unwrap();
        }
        assert_eq!(kept(&store, "c"), ids("c", 32..34));
        assert_eq!(all(&Connection::open(folder.path().join("records.db")).unwrap()), Ok(3 + 3 + 2));
    }

    #[test]
    fn rows_of_a_file_without_counts_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = RecordStore::open(folder.path(), 1 << 30).unwrap();
        store.append(&(0..5).map(|id| call("a", id, None)).collect::<Vec<_>>(), &[]).unwrap();
        drop(store);
        let file = Connection::open(folder.path().join("records.db")).unwrap();
        file.execute_batch(
            "DROP TRIGGER ai_log_came; DROP TRIGGER ai_log_went; DROP TABLE gateway_rows; PRAGMA user_version = 1;",
        )
        .unwrap();
        drop(file);
        let mut store = RecordStore::open(folder.path(), 1 << 30).unwrap();
        let cap = Some(LogCap { rows: 5, strategy: LogStrategy::StopInserting });
        assert_eq!(store.append(&[call("a", 5, cap)], &[]), Ok(1));
    }
}
