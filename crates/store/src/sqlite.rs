//! The store in a SQLite file: crash-safe, and open to `sqlite3` and to other processes.

use std::path::Path;
use std::time::Duration;

use model::ZoneId;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::migration::{Migration, migrate};
use super::row::{OF_ZONES, RECORD, Row, add_row};
use super::{
    Change, Changeset, KeyedRequest, PastChange, PastRow, Resources, Revision, Store, StoreError,
    private_file,
};

/// The file in the state folder.
pub const FILE: &str = "portcullis.db";
/// How long a writer waits for another writer.
const BUSY: Duration = Duration::from_secs(5);
/// How long keys of requests are kept.
const KEPT_SECONDS: i64 = 24 * 60 * 60;

/// INVARIANT: steps are only added; files of every version that shipped exist.
const MIGRATIONS: &[Migration] = &[
    Migration::Sql(
        "CREATE TABLE changesets (
            revision INTEGER PRIMARY KEY,
            at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
            changeset TEXT NOT NULL
        ) STRICT;",
    ),
    // The current state, so that a start reads no history.
    Migration::Sql(
        "CREATE TABLE resources (
            kind TEXT NOT NULL,
            id TEXT NOT NULL,
            revision INTEGER NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY (kind, id)
        ) STRICT, WITHOUT ROWID;",
    ),
    Migration::Code(replay),
    // What each resource was, so that one's history is one indexed read.
    Migration::Sql(
        "CREATE TABLE history (
            kind TEXT NOT NULL,
            id TEXT NOT NULL,
            revision INTEGER NOT NULL,
            body TEXT,
            PRIMARY KEY (kind, id, revision)
        ) STRICT, WITHOUT ROWID;",
    ),
    Migration::Code(recall),
    // Requests with idempotency keys, so that none is carried out twice.
    Migration::Sql(
        "CREATE TABLE keyed_requests (
            key TEXT PRIMARY KEY,
            question TEXT NOT NULL,
            revision INTEGER NOT NULL,
            at INTEGER NOT NULL DEFAULT (unixepoch())
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX keyed_requests_by_time ON keyed_requests (at);",
    ),
    Migration::Format(
        "calendars of accounts and tokens, access applications, addresses of alerts, sealed secrets of webhooks",
    ),
    Migration::Format("settings of zones for their requests, rules that set these or compress responses"),
    Migration::Format("HTTP/3 as a setting of zones"),
    Migration::Format("dynamic routes of gateways"),
    Migration::Format("how long responses are kept by status, and by browsers"),
    Migration::Format("cache keys of rules"),
    Migration::Format("gateways have servers of tools and guardrails; a token may be limited to some tools"),
    Migration::Format("certificates that somebody uploads for a zone, requests for certificates"),
    Migration::Format("limits of gateways have filters; gateways have budgets"),
    Migration::Format("gateways have policies for sensitive data, and hold answers back for it"),
    Migration::Format("gateways say what comes of kinds of content"),
    Migration::Format("gateways say how many rows they keep"),
    Migration::Format("zones have name servers of their own"),
    Migration::Format("gateways send spans of their calls, and may forget answers with each change"),
    Migration::Format("zones are denied by hashes of names"),
    Migration::Format("what zones get from the file"),
];

#[derive(Debug)]
pub struct SqliteStore {
    connection: Connection,
}

impl SqliteStore {
    /// Opens the store in a folder, which is made if it does not exist.
    ///
    /// # Errors
    /// If the file cannot be made or read, or is of a later version.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        Self::at(&private_file(folder, FILE)?).map_err(|error| error.of_file(FILE))
    }

    fn at(path: &Path) -> Result<Self, StoreError> {
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        migrate(&mut connection, MIGRATIONS)?;
        // The log of a process that ended is written back here: the first write would wait for it. If it cannot be, the
        // log is read as it is.
        let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        Ok(Self { connection })
    }
}

fn revision(connection: &Connection) -> Result<Revision, StoreError> {
    let mut newest = connection.prepare_cached("SELECT max(revision) FROM changesets")?;
    let newest: Option<i64> = newest.query_row([], |row| row.get(0))?;
    Ok(newest.and_then(|revision| Revision::try_from(revision).ok()).unwrap_or(0))
}

/// Writes what a change leaves into the current state.
fn write(transaction: &Transaction<'_>, revision: i64, change: &Change) -> Result<(), StoreError> {
    if let Change::DeleteZone { id } = change {
        // What is of it goes with it: ids are the zone's, `/`, and one of their own. `0` is the character behind `/`.
        let mut of_zone = transaction
            .prepare_cached("DELETE FROM resources WHERE kind = ?1 AND id >= ?2 || '/' AND id < ?2 || '0'")?;
        for kind in OF_ZONES {
            of_zone.execute(params![kind, id.as_str()])?;
        }
    }
    let Row { kind, id, body } = change.row()?;
    match body {
        Some(body) => transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO resources (kind, id, revision, body) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![kind, id, revision, body])?,
        None => transaction
            .prepare_cached("DELETE FROM resources WHERE kind = ?1 AND id = ?2")?
            .execute(params![kind, id])?,
    };
    Ok(())
}

/// Notes when the records of each zone last changed: a deletion leaves no row but in the history.
fn record_revisions(transaction: &Transaction<'_>, resources: &mut Resources) -> Result<(), StoreError> {
    let mut statement = transaction.prepare_cached(
        "SELECT substr(id, 1, instr(id, '/') - 1) AS zone, max(revision) FROM history WHERE kind = ?1 GROUP BY zone",
    )?;
    let mut rows = statement.query([RECORD])?;
    while let Some(row) = rows.next()? {
        let (zone, revision): (String, i64) = (row.get(0)?, row.get(1)?);
        let records = resources.records.entry(ZoneId::new(zone)).or_default();
        records.changed_at(Revision::try_from(revision).unwrap_or(0));
    }
    Ok(())
}

/// Writes what a change leaves into the history of its resource.
fn remember(transaction: &Transaction<'_>, revision: i64, change: &Change) -> Result<(), StoreError> {
    let Row { kind, id, body } = change.row()?;
    transaction
        .prepare_cached("INSERT OR REPLACE INTO history (kind, id, revision, body) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![kind, id, revision, body])?;
    Ok(())
}

/// Keeps the key of a request, and lets those go that are older than a day.
fn keep_request(
    transaction: &Transaction<'_>,
    revision: i64,
    request: &KeyedRequest,
) -> Result<(), StoreError> {
    let KeyedRequest { key, question } = request;
    transaction
        .prepare_cached("DELETE FROM keyed_requests WHERE at < unixepoch() - ?1")?
        .execute([KEPT_SECONDS])?;
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO keyed_requests (key, question, revision) VALUES (?1, ?2, ?3)",
        )?
        .execute(params![key, question, revision])?;
    Ok(())
}

/// Makes the history from the log.
fn recall(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    for (revision, changeset) in changes(transaction, 0)? {
        for change in &changeset.changes {
            remember(transaction, number(revision)?, change)?;
        }
    }
    Ok(())
}

/// Makes the current state from the log.
fn replay(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    for (revision, changeset) in changes(transaction, 0)? {
        for change in &changeset.changes {
            write(transaction, number(revision)?, change)?;
        }
    }
    Ok(())
}

/// The least text that is behind all that begin with a prefix. SQLite compares texts by their bytes.
fn after_prefix(prefix: &str) -> String {
    // No character of an id is behind this one.
    format!("{prefix}\u{10FFFF}")
}

/// A count or a revision, which are never negative.
fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn number(revision: Revision) -> Result<i64, StoreError> {
    i64::try_from(revision).map_err(|error| StoreError::Failed(error.to_string()))
}

fn changes(connection: &Connection, from: Revision) -> Result<Vec<(Revision, Changeset)>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT revision, changeset FROM changesets WHERE revision > ?1 ORDER BY revision")?;
    let rows =
        statement.query_map([number(from)?], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
    let mut changes = Vec::new();
    for row in rows {
        let (revision, text) = row?;
        let changeset = serde_json::from_str(&text)
            .map_err(|error| StoreError::Failed(format!("revision {revision} cannot be read: {error}")))?;
        changes.push((Revision::try_from(revision).unwrap_or(0), changeset));
    }
    Ok(changes)
}

impl Store for SqliteStore {
    fn revision(&self) -> Result<Revision, StoreError> {
        revision(&self.connection)
    }

    fn load(&self) -> Result<(Revision, Resources), StoreError> {
        // One transaction: the rows are those of the revision.
        let transaction = self.connection.unchecked_transaction()?;
        let mut resources = Resources::default();
        let mut statement = transaction.prepare_cached("SELECT kind, revision, body FROM resources")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (kind, revision, body): (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            add_row(&mut resources, &kind, &body, Revision::try_from(revision).unwrap_or(0))?;
        }
        record_revisions(&transaction, &mut resources)?;
        Ok((revision(&transaction)?, resources))
    }

    fn commit_all(&mut self, expected: Revision, changesets: &[Changeset]) -> Result<Revision, StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found = revision(&transaction)?;
        if found != expected {
            return Err(StoreError::Conflict { expected, found });
        }
        let mut last = expected;
        for changeset in changesets {
            last += 1;
            let text =
                serde_json::to_string(changeset).map_err(|error| StoreError::Failed(error.to_string()))?;
            let next = number(last)?;
            transaction
                .prepare_cached("INSERT INTO changesets (revision, changeset) VALUES (?1, ?2)")?
                .execute(params![next, text])?;
            for change in &changeset.changes {
                write(&transaction, next, change)?;
                remember(&transaction, next, change)?;
            }
            if let Some(request) = &changeset.request {
                keep_request(&transaction, next, request)?;
            }
        }
        transaction.commit()?;
        Ok(last)
    }

    fn history(&self, kind: &str, id: &str) -> Result<Vec<PastRow>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT history.revision, at, coalesce(json_extract(changeset, '$.actor'), ''), body
             FROM history JOIN changesets ON changesets.revision = history.revision
             WHERE kind = ?1 AND id = ?2 ORDER BY history.revision DESC",
        )?;
        let rows = statement.query_map([kind, id], |row| {
            Ok(PastRow {
                revision: Revision::try_from(row.get::<_, i64>(0)?).unwrap_or(0),
                at: row.get(1)?,
                actor: row.get(2)?,
                body: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn past_changes(
        &self,
        kind: &str,
        prefix: &str,
        skipped: u64,
        count: u64,
    ) -> Result<(Vec<PastChange>, u64), StoreError> {
        let end = after_prefix(prefix);
        let total = "SELECT count(DISTINCT revision) FROM history WHERE kind = ?1 AND id >= ?2 AND id < ?3";
        let total =
            self.connection.prepare_cached(total)?.query_row(params![kind, prefix, end], |row| row.get(0))?;
        let mut statement = self.connection.prepare_cached(
            "SELECT past.revision, at, coalesce(json_extract(changeset, '$.actor'), ''), put, deleted
             FROM (
                SELECT revision, count(body) AS put, count(*) - count(body) AS deleted FROM history
                WHERE kind = ?1 AND id >= ?2 AND id < ?3 GROUP BY revision ORDER BY revision DESC LIMIT ?4 OFFSET ?5
             ) AS past JOIN changesets ON changesets.revision = past.revision ORDER BY past.revision DESC",
        )?;
        let [count, skipped] = [count, skipped].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        let rows = statement.query_map(params![kind, prefix, end, count, skipped], |row| {
            Ok(PastChange {
                revision: unsigned(row.get(0)?),
                at: row.get(1)?,
                actor: row.get(2)?,
                put: unsigned(row.get(3)?),
                deleted: unsigned(row.get(4)?),
            })
        })?;
        Ok((rows.collect::<Result<_, _>>()?, unsigned(total)))
    }

    fn rows_at(&self, kind: &str, prefix: &str, revision: Revision) -> Result<Vec<String>, StoreError> {
        // Of each id the newest row up to the revision: SQLite takes the other columns from the row of the maximum.
        let mut statement = self.connection.prepare_cached(
            "SELECT body, max(revision) FROM history
             WHERE kind = ?1 AND id >= ?2 AND id < ?3 AND revision <= ?4 GROUP BY id HAVING body IS NOT NULL",
        )?;
        let arguments = params![kind, prefix, after_prefix(prefix), number(revision)?];
        let rows = statement.query_map(arguments, |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn keyed_request(&self, key: &str) -> Result<Option<(Revision, String)>, StoreError> {
        let sql = "SELECT revision, question FROM keyed_requests WHERE key = ?1 AND at >= unixepoch() - ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_row(params![key, KEPT_SECONDS], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
        });
        let found = found.optional()?;
        Ok(found.map(|(revision, question)| (Revision::try_from(revision).unwrap_or(0), question)))
    }

    fn changes(&self, from: Revision) -> Result<Vec<(Revision, Changeset)>, StoreError> {
        changes(&self.connection, from)
    }
}

#[cfg(test)]
mod tests;
