//! Security events, in a file of their own: written in batches, the oldest let go by age and bytes.

use std::path::Path;
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use super::event_columns;
use super::event_search::{self, FoundEvents};
use super::migration::migrate;
use super::security_query::{SecurityField, SecurityQuery};
use super::security_schema::MIGRATIONS;
use super::{StoreError, private_file};
use model::SecurityRecord;

/// Rows that are counted exactly; of more the count says no more than that.
const MAX_COUNTED: u64 = 10_000;
/// Rows that go at once.
const SWEPT_ROWS: usize = 1_000;
/// Its name in the state folder.
const FILE: &str = "events.db";
/// How long a writer waits for another writer.
const BUSY: Duration = Duration::from_secs(30);

/// An alert that was sent, or was to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastAlert {
    pub policy: String,
    pub account: String,
    /// RFC 3339.
    pub at: String,
    pub text: String,
    /// Names of webhooks that took it.
    pub delivered: String,
    /// Why others did not.
    pub failed: String,
}

/// The log in `events.db`.
pub struct SecurityLog {
    connection: Connection,
    max_bytes: u64,
}

impl SecurityLog {
    /// Opens the log in a folder, which is made if it is missing.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if the file cannot be made or read.
    pub fn open(folder: &Path, max_bytes: u64) -> Result<Self, StoreError> {
        Self::at(&private_file(folder, FILE)?, max_bytes).map_err(|error| error.of_file(FILE))
    }

    fn at(path: &Path, max_bytes: u64) -> Result<Self, StoreError> {
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(BUSY)?;
        connection.execute_batch(
            "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;",
        )?;
        migrate(&mut connection, MIGRATIONS)?;
        Ok(Self { connection, max_bytes })
    }

    /// Appends records. One that comes again (`true`: the zone, path and reference of an earlier one) is counted there.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if they cannot be written; none of them is then.
    pub fn append(&mut self, records: &[(SecurityRecord, bool)]) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        {
            let mut count = transaction.prepare_cached(
                "UPDATE events SET count = count + ?1 WHERE id = (SELECT max(id) FROM events
                     WHERE reference = ?2 AND at > ?3 AND zone_id = ?4 AND account = ?5 AND path = ?6)",
            )?;
            let mut insert = transaction.prepare_cached(
                "INSERT INTO events (at, zone, host, source, action, rule, reference, client, ray, path, count, record,
                     zone_id, account)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            )?;
            for (record, is_again) in records {
                let added = i64::try_from(record.count).unwrap_or(i64::MAX);
                // Of an earlier day it is a new one.
                let day = record.datetime.get(..10).unwrap_or("");
                let SecurityRecord { reference, zone_id, account_id, path, .. } = record;
                if *is_again && count.execute(params![added, reference, day, zone_id, account_id, path])? > 0
                {
                    continue;
                }
                // INVARIANT: a struct of texts and numbers always serialises.
                let text = serde_json::to_string(record).unwrap_or_default();
                insert.execute(params![
                    record.datetime,
                    record.zone,
                    record.host,
                    record.source,
                    record.action,
                    record.rule,
                    record.reference,
                    record.client,
                    record.ray,
                    record.path,
                    added,
                    text,
                    zone_id,
                    account_id
                ])?;
            }
        }
        event_columns::extend(&transaction)?;
        transaction.commit()?;
        Ok(())
    }

    /// The newest first, and how many there are in all, counted up to ten thousand.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if they cannot be read.
    pub fn page(&self, query: &SecurityQuery) -> Result<(Vec<SecurityRecord>, u64), StoreError> {
        // One transaction, so that what is written meanwhile is neither missed nor found twice.
        let moment = self.connection.unchecked_transaction()?;
        let limit = query.limit.min(1_000);
        let (total, ids) = if event_search::answers(query) {
            let FoundEvents { total, mut ids } =
                event_search::find(&moment, query, query.skip.saturating_add(limit))?;
            let skipped = usize::try_from(query.skip).unwrap_or(usize::MAX).min(ids.len());
            (total.min(MAX_COUNTED), ids.split_off(skipped))
        } else {
            by_index(&moment, query, limit)?
        };
        let mut read = moment.prepare_cached("SELECT record, count FROM events WHERE id = ?1")?;
        let mut records = Vec::new();
        for id in ids {
            let (text, count): (String, i64) = read.query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
            if let Ok(record) = serde_json::from_str::<SecurityRecord>(&text) {
                records.push(SecurityRecord { count: u64::try_from(count).unwrap_or(1), ..record });
            }
        }
        Ok((records, total))
    }

    /// The most frequent values of a field, with how often each was found.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if they cannot be read.
    pub fn top(&self, query: &SecurityQuery, field: SecurityField) -> Result<Vec<(String, u64)>, StoreError> {
        let moment = self.connection.unchecked_transaction()?;
        let (mut condition, mut values) = query.condition();
        let mut index = query.index();
        if event_search::answers(query) {
            let FoundEvents { total, ids } = event_search::find(&moment, query, MAX_COUNTED)?;
            // Of few it is less work to read these.
            if total <= MAX_COUNTED {
                // INVARIANT: a list of numbers always serialises.
                let ids = serde_json::to_string(&ids).unwrap_or_default();
                "id IN (SELECT value FROM json_each(?))".clone_into(&mut condition);
                (values, index) = (vec![Value::Text(ids)], "");
            }
        }
        let (column, limit) = (field.word(), query.limit.min(1_000));
        let sql = format!(
            "SELECT {column}, sum(count) AS total FROM events {index} WHERE {condition} GROUP BY {column}
             ORDER BY total DESC, {column} LIMIT {limit}"
        );
        let mut statement = moment.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(&values), |row| {
            Ok((row.get(0)?, u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0)))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// How many events there were in each of the last intervals of so many seconds that ended before the interval of number
    /// `current`, counted from the epoch; the oldest first.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if they cannot be read.
    pub fn per_interval(
        &self,
        query: &SecurityQuery,
        seconds: u64,
        current: u64,
        intervals: u64,
    ) -> Result<Vec<u64>, StoreError> {
        let (condition, values) = query.condition();
        let sql = format!(
            "SELECT CAST(strftime('%s', substr(at, 1, 19)) AS INTEGER) / {seconds} AS interval, sum(count) FROM events
             WHERE {condition} GROUP BY interval"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(&values))?;
        let mut counts = vec![0; usize::try_from(intervals).unwrap_or(0)];
        while let Some(row) = rows.next()? {
            let (interval, count): (i64, i64) = (row.get(0)?, row.get(1)?);
            let place =
                u64::try_from(interval).ok().and_then(|interval| (interval + intervals).checked_sub(current));
            if let Some(known) = place.and_then(|place| counts.get_mut(usize::try_from(place).ok()?)) {
                *known = u64::try_from(count).unwrap_or(0);
            }
        }
        Ok(counts)
    }

    /// Whether a policy has spoken since a moment (RFC 3339).
    ///
    /// # Errors
    /// [`StoreError::Failed`] if it cannot be read.
    pub fn alerted_since(&self, policy: &str, since: &str) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM alerts WHERE policy = ?1 AND at > ?2)";
        Ok(self.connection.prepare_cached(sql)?.query_row([policy, since], |row| row.get(0))?)
    }

    /// Keeps an alert.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if it cannot be written.
    pub fn alerted(&self, alert: &PastAlert) -> Result<(), StoreError> {
        let PastAlert { policy, account, at, text, delivered, failed } = alert;
        self.connection.execute(
            "INSERT INTO alerts (policy, account, at, text, delivered, failed) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![policy, account, at, text, delivered, failed],
        )?;
        Ok(())
    }

    /// The last hundred alerts of an account, the newest first.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if they cannot be read.
    pub fn alerts(&self, account: &str) -> Result<Vec<PastAlert>, StoreError> {
        let sql = "SELECT policy, account, at, text, delivered, failed FROM alerts WHERE account = ?1
             ORDER BY at DESC LIMIT 100";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([account], |row| {
            Ok(PastAlert {
                policy: row.get(0)?,
                account: row.get(1)?,
                at: row.get(2)?,
                text: row.get(3)?,
                delivered: row.get(4)?,
                failed: row.get(5)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Lets some of the oldest go: those from before a moment (RFC 3339), and those that are too many bytes. True if more
    /// may have to go.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if they cannot be deleted.
    pub fn sweep(&mut self, before: Option<&str>) -> Result<bool, StoreError> {
        let number = |name: &str| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let pages = number("page_count")? - number("freelist_count")?;
        let bytes = u64::try_from(pages * number("page_size")?).unwrap_or(0);
        let before = if bytes > self.max_bytes { None } else { Some(before.unwrap_or("")) };
        let (transaction, mut deleted, mut last_gone) = (self.connection.transaction()?, 0, 0);
        {
            let mut delete = transaction.prepare_cached(
                "DELETE FROM events WHERE id IN (SELECT id FROM events ORDER BY id LIMIT ?1) AND (?2 IS NULL OR at < ?2)
                     RETURNING id",
            )?;
            let mut rows = delete.query(params![SWEPT_ROWS as i64, before])?;
            while let Some(row) = rows.next()? {
                last_gone = last_gone.max(row.get(0)?);
                deleted += 1;
            }
        }
        event_columns::shrink(&transaction, last_gone)?;
        transaction.commit()?;
        if deleted > 0 {
            let mut freed = self.connection.prepare("PRAGMA incremental_vacuum(256)")?;
            let mut pages = freed.query([])?;
            while pages.next()?.is_some() {}
        }
        Ok(deleted == SWEPT_ROWS)
    }
}

/// A page of what the index of an owner, of a time or of a request finds, and how many there are.
fn by_index(
    connection: &Connection,
    query: &SecurityQuery,
    limit: u64,
) -> Result<(u64, Vec<i64>), StoreError> {
    let ((condition, values), index) = (query.condition(), query.index());
    let count =
        format!("SELECT count(*) FROM (SELECT 1 FROM events {index} WHERE {condition} LIMIT {MAX_COUNTED})");
    let total: i64 =
        connection.prepare_cached(&count)?.query_row(params_from_iter(&values), |row| row.get(0))?;
    let skip = i64::try_from(query.skip).unwrap_or(i64::MAX);
    let page = format!(
        "SELECT id FROM events {index} WHERE {condition} ORDER BY at DESC, id DESC LIMIT {limit} OFFSET {skip}"
    );
    let mut statement = connection.prepare_cached(&page)?;
    let ids = statement.query_map(params_from_iter(&values), |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok((u64::try_from(total).unwrap_or(0), ids))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SecurityOwner;
    use model::{AccountId, ZoneId};

    fn record(nth: usize) -> SecurityRecord {
        SecurityRecord {
            datetime: format!("2026-01-01T00:{:02}:{:02}.000000Z", nth / 60 % 60, nth % 60),
            ray: format!("ray{nth}"),
            zone: format!("z{}.example", nth % 3),
            zone_id: format!("{}", nth % 3),
            account_id: "a".to_owned(),
            host: format!("h{}.example", nth % 5),
            action: if nth.is_multiple_of(2) { "block" } else { "log" }.to_owned(),
            reference: format!("r{}", nth % 7),
            path: "/".to_owned(),
            count: 1,
            ..SecurityRecord::default()
        }
    }

    #[test]
    fn records_are_found_counted_and_go() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = SecurityLog::open(folder.path(), 64 << 20).unwrap();
        let records: Vec<_> = (0..210).map(|nth| (record(nth), false)).collect();
        log.append(&records).unwrap();
        let all = SecurityQuery { limit: 5, ..SecurityQuery::default() };
        let (page, total) = log.page(&all).unwrap();
        assert_eq!((page.len(), total, page[0].ray.as_str()), (5, 210, "ray209"), "the newest first");
        let filters =
            vec![(SecurityField::Action, "block".to_owned()), (SecurityField::Host, "h1.example".to_owned())];
        let zones = vec!["z0.example".to_owned(), "z1.example".to_owned()];
        let query = SecurityQuery { filters, zones, limit: 100, ..SecurityQuery::default() };
        let (page, total) = log.page(&query).unwrap();
        assert_eq!((page.len(), total), (14, 14));
        assert!(page.iter().all(|record| record.action == "block" && record.host == "h1.example"));
        let of = |owner| log.page(&SecurityQuery { owner, ..all.clone() }).unwrap().1;
        let (account, zone) = (AccountId::new("a"), ZoneId::new("1"));
        assert_eq!(of(SecurityOwner::Account(account.clone())), 210);
        assert_eq!(of(SecurityOwner::Account(AccountId::new("b"))), 0);
        assert_eq!(of(SecurityOwner::Zone(zone.clone(), account)), 70);
        assert_eq!(of(SecurityOwner::Zone(zone, AccountId::new("b"))), 0, "it was another account's");
        let since = Some("2026-01-01T00:03:00.000000Z".to_owned());
        assert_eq!(log.page(&SecurityQuery { since, ..all.clone() }).unwrap().1, 30);
        // The same again is counted where it was.
        let again = SecurityRecord { datetime: "2026-01-01T01:00:00Z".to_owned(), count: 4, ..record(209) };
        log.append(&[(again, true), (SecurityRecord { zone_id: "new".to_owned(), ..record(0) }, true)])
            .unwrap();
        assert_eq!(log.page(&all).unwrap().1, 211);
        let top = log
            .top(&SecurityQuery { limit: 2, ..SecurityQuery::default() }, SecurityField::Reference)
            .unwrap();
        assert_eq!(top, [("r6".to_owned(), 34), ("r0".to_owned(), 31)]);
        while log.sweep(Some("2026-01-01T00:03:00.000000Z")).unwrap() {}
        assert_eq!(log.page(&all).unwrap().1, 30);
        log.max_bytes = 1;
        while log.sweep(None).unwrap() {}
        assert_eq!(log.page(&all).unwrap().1, 0);
    }
}
