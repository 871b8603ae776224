//! Which values stand together in security events: a search for two that never do looks at no event.

use std::collections::BTreeMap;

use rusqlite::{Connection, params, params_from_iter};

use super::StoreError;
use super::security_query::SecurityQuery;
use model::SecurityRecord;

/// The columns of a kind, and how many events of it came or went.
#[derive(Default)]
pub(super) struct EventKinds(BTreeMap<[String; 7], i64>);

/// The columns of a kind, in the order of its key.
pub(super) const COLUMNS: &str = "account, zone_id, host, source, action, rule, reference";

impl EventKinds {
    pub(super) fn add(&mut self, record: &SecurityRecord) {
        let SecurityRecord { account_id, zone_id, host, source, action, rule, reference, .. } = record;
        self.add_columns([account_id, zone_id, host, source, action, rule, reference].map(Clone::clone));
    }

    pub(super) fn add_columns(&mut self, columns: [String; 7]) {
        *self.0.entry(columns).or_default() += 1;
    }

    /// Counts events that came (`1`) or went (`-1`).
    pub(super) fn count(&self, connection: &Connection, sign: i64) -> Result<(), StoreError> {
        let mut come = connection.prepare_cached(
            "INSERT INTO event_kinds VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                 ON CONFLICT DO UPDATE SET events = events + excluded.events",
        )?;
        let mut go = connection.prepare_cached(
            "DELETE FROM event_kinds WHERE account = ?1 AND zone_id = ?2 AND host = ?3 AND source = ?4 AND action = ?5
                 AND rule = ?6 AND reference = ?7 AND events < 1",
        )?;
        for ([account, zone, host, source, action, rule, reference], events) in &self.0 {
            come.execute(params![account, zone, host, source, action, rule, reference, sign * events])?;
            if sign < 0 {
                go.execute(params![account, zone, host, source, action, rule, reference])?;
            }
        }
        Ok(())
    }
}

/// Whether no event has all the values that a query asks for, as far as kinds of events say.
pub(super) fn never_meet(connection: &Connection, query: &SecurityQuery) -> Result<bool, StoreError> {
    let (condition, values) = query.of_kinds();
    let sql = format!("SELECT NOT EXISTS (SELECT 1 FROM event_kinds WHERE {condition})");
    Ok(connection.prepare_cached(&sql)?.query_row(params_from_iter(&values), |row| row.get(0))?)
}
