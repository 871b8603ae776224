//! Security events, in a file of their own: written in batches, the oldest let go by age and bytes.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, params, params_from_iter};

use super::event_kinds::{COLUMNS, EventKinds, never_meet};
use super::migration::migrate;
use super::security_query::{SecurityField, SecurityOwner, SecurityQuery};
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
        let (transaction, mut kinds) = (self.connection.transaction()?, EventKinds::default());
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
                kinds.add(record);
            }
        }
        kinds.count(&transaction, 1)?;
        transaction.commit()?;
        Ok(())
    }

    /// The index that has the fewest entries for a query, as SQL names it: its planner knows how many entries values have on
    /// average, which says little of one value.
    fn index(&self, query: &SecurityQuery) -> Result<String, StoreError> {
        let mut best = (MAX_COUNTED as i64, String::new());
        for (field, value) in &query.filters {
            let column = field.word();
            // Entries of an owner have the name of the zone; there is no index of it.
            if *field == SecurityField::Zone {
                continue;
            }
            let sql = format!(
                "SELECT count(*) FROM (SELECT 1 FROM events INDEXED BY events_by_{column} WHERE {column} = ?
                     LIMIT {MAX_COUNTED})"
            );
            let count: i64 = self.connection.prepare_cached(&sql)?.query_row([value], |row| row.get(0))?;
            if count < best.0 {
                best = (count, format!("INDEXED BY events_by_{column}"));
            }
        }
        if best.1.is_empty() {
            let own = match query.owner {
                SecurityOwner::All => "",
                SecurityOwner::Account(_) => "INDEXED BY events_by_account",
                SecurityOwner::Zone(..) => "INDEXED BY events_by_zone",
            };
            own.clone_into(&mut best.1);
        }
        Ok(best.1)
    }

    /// The newest first, and how many there are in all, counted up to ten thousand.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if they cannot be read.
    pub fn page(&self, query: &SecurityQuery) -> Result<(Vec<SecurityRecord>, u64), StoreError> {
        if never_meet(&self.connection, query)? {
            return Ok((Vec::new(), 0));
        }
        let ((condition, values), index) = (query.condition(), self.index(query)?);
        let count = format!(
            "SELECT count(*) FROM (SELECT 1 FROM events {index} WHERE {condition} LIMIT {MAX_COUNTED})"
        );
        let mut statement = self.connection.prepare_cached(&count)?;
        let total: i64 = statement.query_row(params_from_iter(&values), |row| row.get(0))?;
        let (limit, skip) = (query.limit.min(1_000), i64::try_from(query.skip).unwrap_or(i64::MAX));
        // To know that no event passes all filters may have taken a look at every one: once is enough.
        if total <= skip && total < MAX_COUNTED as i64 {
            return Ok((Vec::new(), u64::try_from(total).unwrap_or(0)));
        }
        let page = format!(
            "SELECT record, count FROM events {index} WHERE {condition} ORDER BY at DESC, id DESC LIMIT {limit} OFFSET {skip}"
        );
        let mut statement = self.connection.prepare_cached(&page)?;
        let rows = statement.query_map(params_from_iter(&values), |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
        })?;
        let mut records = Vec::new();
        for row in rows {
            let (text, count) = row?;
            if let Ok(record) = serde_json::from_str::<SecurityRecord>(&text) {
                let count = u64::try_from(count).unwrap_or(1);
                records.push(SecurityRecord { count, ..record });
            }
        }
        Ok((records, u64::try_from(total).unwrap_or(0)))
    }

    /// The most frequent values of a field, with how often each was found.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if they cannot be read.
    pub fn top(&self, query: &SecurityQuery, field: SecurityField) -> Result<Vec<(String, u64)>, StoreError> {
        if never_meet(&self.connection, query)? {
            return Ok(Vec::new());
        }
        let ((condition, values), index) = (query.condition(), self.index(query)?);
        let (column, limit) = (field.word(), query.limit.min(1_000));
        let sql = format!(
            "SELECT {column}, sum(count) AS total FROM events {index} WHERE {condition} GROUP BY {column}
             ORDER BY total DESC, {column} LIMIT {limit}"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
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
        let (transaction, mut kinds, mut deleted) =
            (self.connection.transaction()?, EventKinds::default(), 0);
        {
            let mut delete = transaction.prepare_cached(&format!(
                "DELETE FROM events WHERE id IN (SELECT id FROM events ORDER BY id LIMIT ?1) AND (?2 IS NULL OR at < ?2)
                     RETURNING {COLUMNS}"
            ))?;
            let mut rows = delete.query(params![SWEPT_ROWS as i64, before])?;
            while let Some(row) = rows.next()? {
                let mut columns: [String; 7] = Default::default();
                for (nth, column) in columns.iter_mut().enumerate() {
                    *column = row.get(nth)?;
                }
                kinds.add_columns(columns);
                deleted += 1;
            }
        }
        kinds.count(&transaction, -1)?;
        transaction.commit()?;
        if deleted > 0 {
            let mut freed = self.connection.prepare("PRAGMA incremental_vacuum(256)")?;
            let mut pages = freed.query([])?;
            while pages.next()?.is_some() {}
        }
        Ok(deleted == SWEPT_ROWS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn kinds_of_events_come_and_go_with_them() {
        let mut log = SecurityLog::at(Path::new(":memory:"), u64::MAX).unwrap();
        let kinds = |log: &SecurityLog| -> Vec<(String, String, i64)> {
            let sql = "SELECT host, action, events FROM event_kinds ORDER BY host, action";
            let mut statement = log.connection.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
            rows.map(Result::unwrap).collect()
        };
        let of = |host: &str, action: &str, datetime: &str| SecurityRecord {
            host: host.to_owned(),
            action: action.to_owned(),
            datetime: datetime.to_owned(),
            count: 1,
            ..record(1)
        };
        let (old, new) = ("2026-01-01T00:00:00.000000Z", "2026-01-02T00:00:00.000000Z");
        let records = [
            of("a", "log", old),
            of("a", "log", old),
            of("a", "log", old),
            of("b", "block", old),
            of("b", "log", new),
        ];
        let records: Vec<_> = records.into_iter().enumerate().map(|(nth, one)| (one, nth == 2)).collect();
        log.append(&records).unwrap();
        let kind = |host: &str, action: &str, events| (host.to_owned(), action.to_owned(), events);
        assert_eq!(kinds(&log), [kind("a", "log", 2), kind("b", "block", 1), kind("b", "log", 1)]);
        let ask = |log: &SecurityLog, host: &str, action: &str| {
            let filters =
                vec![(SecurityField::Host, host.to_owned()), (SecurityField::Action, action.to_owned())];
            let query = SecurityQuery { filters, limit: 10, ..SecurityQuery::default() };
            let top = log.top(&query, SecurityField::Host).unwrap();
            (log.page(&query).unwrap().1, top.first().map_or(0, |(_, events)| *events))
        };
        assert_eq!(
            (ask(&log, "a", "log"), ask(&log, "a", "block"), ask(&log, "b", "log")),
            ((2, 3), (0, 0), (1, 1))
        );
        while log.sweep(Some("2026-01-02")).unwrap() {}
        assert_eq!(kinds(&log), [kind("b", "log", 1)]);
        assert_eq!((ask(&log, "a", "log"), ask(&log, "b", "log")), ((0, 0), (1, 1)));
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
