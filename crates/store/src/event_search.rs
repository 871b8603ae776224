//! Which security events a query asks for, by their columns: it takes the time to read these, whatever the query finds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::StoreError;
use super::event_columns::{ChunkIds, EventChunks, first_id, hash, microseconds};
use super::security_query::{SecurityOwner, SecurityQuery};

/// What a query finds.
pub(super) struct FoundEvents {
    pub(super) total: u64,
    /// The newest of them, in their order.
    pub(super) ids: Vec<i64>,
}

/// Whether columns answer a query: those that ask for no more than an owner and a time have an index, and so have those that
/// ask for a request.
pub(super) fn answers(query: &SecurityQuery) -> bool {
    !(query.asks_for_request()
        || query.filters.is_empty() && query.sources.is_empty() && query.zones.is_empty())
}

/// Finds events, and the ids of up to `most` of them, the newest first.
pub(super) fn find(
    connection: &Connection,
    query: &SecurityQuery,
    most: u64,
) -> Result<FoundEvents, StoreError> {
    let mut newest = Newest { most: usize::try_from(most).unwrap_or(usize::MAX), ..Newest::default() };
    let EventChunks { complete, oldest_id, .. } = EventChunks::of(connection)?;
    // Those behind the last chunk that is complete.
    let (condition, values) = query.condition();
    let mut rest = connection
        .prepare_cached(&format!("SELECT at, id FROM events NOT INDEXED WHERE {condition} AND id >= ?"))?;
    let first = Value::Integer(if complete.is_empty() { i64::MIN } else { first_id(complete.end) });
    let mut rows = rest.query(params_from_iter(values.iter().chain([&first])))?;
    while let Some(row) = rows.next()? {
        newest.push(microseconds(row.get_ref(0)?.as_str().unwrap_or_default()).unwrap_or(0), row.get(1)?);
    }
    let wanted = wanted(query);
    let since = query.since.as_deref().and_then(microseconds).unwrap_or(i64::MIN);
    let until = query.until.as_deref().and_then(microseconds).unwrap_or(i64::MAX);
    'chunks: for chunk in complete.rev() {
        let mut ids = ChunkIds::all(chunk);
        for (column, hashes) in &wanted {
            if !ids.keep(connection, column, hashes)? {
                continue 'chunks;
            }
        }
        for (at, id) in ids.times(connection)? {
            if id >= oldest_id && (since..until).contains(&at) {
                newest.push(at, id);
            }
        }
    }
    Ok(newest.found())
}

/// The columns that a query asks for, with the hashes of the values that pass.
fn wanted(query: &SecurityQuery) -> Vec<(&'static str, Vec<u64>)> {
    let mut wanted = Vec::new();
    let mut want = |column, values: &[&str]| {
        wanted.push((column, values.iter().map(|value| hash(value.as_bytes())).collect()));
    };
    for (field, value) in &query.filters {
        want(field.word(), &[value]);
    }
    for (column, values) in [("source", &query.sources), ("zone", &query.zones)] {
        if !values.is_empty() {
            want(column, &values.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
    match &query.owner {
        SecurityOwner::All => {}
        SecurityOwner::Account(account) => want("account", &[account.as_str()]),
        SecurityOwner::Zone(zone, account) => {
            want("zone_id", &[zone.as_str()]);
            want("account", &[account.as_str()]);
        }
    }
    wanted
}

/// The newest of what was found, by time and id.
#[derive(Default)]
struct Newest {
    most: usize,
    total: u64,
    heap: BinaryHeap<Reverse<(i64, i64)>>,
}

impl Newest {
    fn push(&mut self, at: i64, id: i64) {
        self.total += 1;
        if self.heap.len() < self.most {
            self.heap.push(Reverse((at, id)));
        } else if let Some(mut oldest) = self.heap.peek_mut()
            && oldest.0 < (at, id)
        {
            *oldest = Reverse((at, id));
        }
    }

    fn found(self) -> FoundEvents {
        let ids = self.heap.into_sorted_vec().into_iter().map(|Reverse((_, id))| id).collect();
        FoundEvents { total: self.total, ids }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{SecurityField, SecurityLog};
    use model::{AccountId, SecurityRecord, ZoneId};

    /// An event of a few frequent values, with times that now and then step back, and what is at most in one chunk.
    fn varied(nth: usize) -> SecurityRecord {
        let second = if nth.is_multiple_of(97) { nth / 2 } else { nth };
        SecurityRecord {
            datetime: format!(
                "2026-01-01T{:02}:{:02}:{:02}.{:06}Z",
                second / 3600,
                second / 60 % 60,
                second % 60,
                nth % 3
            ),
            ray: format!("ray{nth}"),
            zone: format!("z{}.example", nth % 3),
            zone_id: format!("{}", nth % 3),
            action: if nth.is_multiple_of(2) { "block" } else { "log" }.to_owned(),
            reference: format!("r{}", nth % 7),
            count: 1,
            host: if nth < 9_000 { "early.example" } else { "late.example" }.to_owned(),
            source: ["waf", "dlp", "edge"][nth % 3].to_owned(),
            client: format!("192.0.2.{}", nth % 7),
            // More values than a code of one byte has.
            path: if nth.is_multiple_of(2) { "/".to_owned() } else { format!("/{nth}") },
            account_id: if nth.is_multiple_of(5) { "b" } else { "a" }.to_owned(),
            ..SecurityRecord::default()
        }
    }

    /// Queries of every kind: filters, owners, times, sources and pages.
    fn queries() -> Vec<SecurityQuery> {
        use SecurityField::{Action, Client, Host, Path, Ray, Reference, Source, Zone};
        let filters: [&[(SecurityField, &str)]; 9] = [
            &[],
            &[(Host, "early.example"), (Action, "block")],
            &[(Client, "192.0.2.1"), (Path, "/")],
            // Frequent ones that never meet: odd events are logged and have a path of their own.
            &[(Path, "/"), (Action, "log")],
            &[(Path, "/8191"), (Source, "dlp")],
            &[(Path, "/8193")],
            &[(Zone, "z1.example"), (Reference, "r3"), (Client, "192.0.2.3")],
            &[(Client, "192.0.2.99")],
            &[(Ray, "ray16384"), (Action, "block")],
        ];
        let owners = [
            SecurityOwner::All,
            SecurityOwner::Account(AccountId::new("b")),
            SecurityOwner::Zone(ZoneId::new("1"), AccountId::new("a")),
        ];
        let times = [
            (None, None),
            (Some("2026-01-01T01:00:00.000001Z"), None),
            (None, Some("2026-01-01T02:30:00.000000Z")),
            (Some("2026-01-01T02:16:31.000000Z"), Some("2026-01-01T02:16:33.000000Z")),
        ];
        let mut queries = Vec::new();
        for (filters, owner) in
            filters.iter().flat_map(|filters| owners.iter().map(move |owner| (filters, owner)))
        {
            let filters: Vec<_> =
                filters.iter().map(|(field, value)| (*field, (*value).to_owned())).collect();
            for (since, until) in times {
                for (sources, skip) in [(&[][..], 0), (&["waf", "dlp"][..], 3)] {
                    queries.push(SecurityQuery {
                        owner: owner.clone(),
                        filters: filters.clone(),
                        sources: sources.iter().map(|source| (*source).to_owned()).collect(),
                        since: since.map(str::to_owned),
                        until: until.map(str::to_owned),
                        skip,
                        limit: 20,
                        ..SecurityQuery::default()
                    });
                }
            }
        }
        assert_eq!(queries.len(), 9 * 3 * 4 * 2);
        queries
    }

    /// What each query finds is what a look at every event finds, whichever chunks these are in.
    #[test]
    fn columns_find_what_a_look_at_every_event_finds() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = SecurityLog::open(folder.path(), u64::MAX).unwrap();
        let file = Connection::open(folder.path().join("events.db")).unwrap();
        let mut events: Vec<(usize, SecurityRecord)> = (0..18_000).map(|nth| (nth, varied(nth))).collect();
        for some in events.chunks(500) {
            log.append(&some.iter().map(|(_, record)| (record.clone(), false)).collect::<Vec<_>>()).unwrap();
        }
        for gone in ["", "2026-01-01T01:15:00.000000Z", "2026-01-01T03:30:00.000000Z"] {
            while log.sweep(Some(gone)).unwrap() {}
            // What the log keeps is read from it: which of them it lets go is another test's.
            let mut ids = file.prepare("SELECT id - 1 FROM events").unwrap();
            let kept: HashSet<i64> =
                ids.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
            events.retain(|(nth, _)| kept.contains(&(*nth as i64)));
            for query in queries() {
                let mut expected: Vec<&(usize, SecurityRecord)> =
                    events.iter().filter(|(_, record)| passes(&query, record)).collect();
                expected.sort_by_key(|(nth, record)| Reverse((record.datetime.clone(), *nth)));
                let (page, total) = log.page(&query).unwrap();
                assert_eq!(total, (expected.len() as u64).min(10_000), "{query:?}");
                let rays: Vec<&str> = page.iter().map(|record| record.ray.as_str()).collect();
                let shown = expected.iter().skip(query.skip as usize).take(20);
                assert_eq!(
                    rays,
                    shown.map(|(_, record)| record.ray.as_str()).collect::<Vec<_>>(),
                    "{query:?}"
                );
                let top = log.top(&query, SecurityField::Source).unwrap();
                assert_eq!(
                    top.iter().map(|(_, events)| events).sum::<u64>(),
                    expected.len() as u64,
                    "{query:?}"
                );
            }
        }
        assert!((1..18_000 - 8_192).contains(&events.len()), "a chunk has gone, and some events are left");
    }

    fn passes(query: &SecurityQuery, record: &SecurityRecord) -> bool {
        let owner = match &query.owner {
            SecurityOwner::All => true,
            SecurityOwner::Account(account) => record.account_id == account.as_str(),
            SecurityOwner::Zone(zone, account) => {
                record.account_id == account.as_str() && record.zone_id == zone.as_str()
            }
        };
        let has = |field: SecurityField| match field {
            SecurityField::Zone => &record.zone,
            SecurityField::Host => &record.host,
            SecurityField::Source => &record.source,
            SecurityField::Action => &record.action,
            SecurityField::Rule => &record.rule,
            SecurityField::Reference => &record.reference,
            SecurityField::Client => &record.client,
            SecurityField::Ray => &record.ray,
            SecurityField::Path => &record.path,
        };
        owner
            && query.filters.iter().all(|(field, value)| has(*field) == value)
            && (query.sources.is_empty() || query.sources.contains(&record.source))
            && query.since.as_ref().is_none_or(|since| record.datetime >= *since)
            && query.until.as_ref().is_none_or(|until| record.datetime < *until)
    }
}
