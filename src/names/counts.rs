//! Counts of answers, and a sample of queries for the log. Labels are words of fixed lists and names of zones, so that a
//! client makes no series.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use dns::query::Query;
use dns::{Answered, Name, RecordType};
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use prometheus::IntCounter;

use crate::events::Events;
use crate::events::kinds::DnsQuery;
use crate::snapshot::Snapshot;

/// Most zones that have series of their own; queries for others are counted together.
const MAX_ZONES: usize = 500;
const OTHER_ZONES: &str = "other";

/// Zones that have series, by their names in wire form. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct CountedZones(Arc<Mutex<HashSet<Box<[u8]>>>>);

impl CountedZones {
    /// Whether a zone has series of its own.
    fn admit(&self, zone: &Name, snapshot: &Snapshot) -> bool {
        let mut zones = self.0.lock();
        if zones.contains(zone.wire()) {
            return true;
        }
        if zones.len() >= MAX_ZONES {
            zones.retain(|zone| snapshot.names.catalog.get(zone).is_some());
        }
        zones.len() < MAX_ZONES && zones.insert(zone.wire().into())
    }
}

/// The counters of a zone, by code.
type CodeCounters = Vec<(u16, IntCounter)>;

/// The counters that a thread or a connection has used.
pub(super) struct AnswerCounts {
    events: Events,
    protocol: &'static str,
    by_type: HashMap<(u16, u16), IntCounter>,
    /// By names in wire form.
    by_zone: HashMap<Box<[u8]>, CodeCounters, RandomState>,
    /// Those of zones without series of their own.
    of_others: CodeCounters,
    zones: CountedZones,
    /// Whether no further zone gets series, so that nobody waits for others to learn it with each query.
    is_full: bool,
    /// The snapshot that `by_zone` is of: zones of others may be gone, and their series with them.
    revision: u64,
    /// Queries since the one that was last logged.
    unlogged: u32,
}

/// A query that was answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnsweredQuery<'q> {
    pub(super) query: &'q [u8],
    pub(super) client: IpAddr,
    pub(super) answered: &'q Answered<'q>,
}

impl AnswerCounts {
    pub(super) fn new(events: Events, protocol: &'static str, zones: CountedZones) -> Self {
        let (by_type, by_zone) = (HashMap::new(), HashMap::default());
        Self {
            events,
            protocol,
            by_type,
            by_zone,
            of_others: Vec::new(),
            zones,
            is_full: false,
            revision: 0,
            unlogged: 0,
        }
    }

    pub(super) fn count(&mut self, one: AnsweredQuery<'_>, snapshot: &Snapshot) {
        let answered = one.answered;
        let query_type = if word(answered.query_type) == "other" { 0 } else { answered.query_type };
        let code = answered.rcode as u16;
        let counter = self.by_type.entry((query_type, code)).or_insert_with(|| {
            let labels = [word(answered.query_type), answered.rcode.word(), self.protocol];
            self.events.metrics().dns_answers.with_label_values(&labels)
        });
        counter.inc();
        self.count_zone(answered, snapshot);
        let every = snapshot.dns.query_log;
        if every == 0 {
            return;
        }
        self.unlogged += 1;
        if self.unlogged >= every {
            self.unlogged = 0;
            self.log(one);
        }
    }

    fn count_zone(&mut self, answered: &Answered<'_>, snapshot: &Snapshot) {
        let Some(zone) = answered.zone else { return };
        if self.revision != snapshot.revision {
            self.by_zone.clear();
            self.is_full = false;
            self.revision = snapshot.revision;
        }
        let code = answered.rcode as u16;
        let codes = self.by_zone.get(zone.wire()).or_else(|| self.is_full.then_some(&self.of_others));
        if let Some((_, counter)) = codes.and_then(|codes| codes.iter().find(|(known, _)| *known == code)) {
            return counter.inc();
        }
        let is_own = self.by_zone.contains_key(zone.wire()) || !self.is_full && self.admit(zone, snapshot);
        let label = if is_own { zone.to_string() } else { OTHER_ZONES.to_owned() };
        let labels = [label.as_str(), answered.rcode.word()];
        let counter = self.events.metrics().dns_zone_answers.with_label_values(&labels);
        counter.inc();
        let codes =
            if is_own { self.by_zone.entry(zone.wire().into()).or_default() } else { &mut self.of_others };
        if codes.iter().all(|(known, _)| *known != code) {
            codes.push((code, counter));
        }
    }

    /// Whether a zone has series of its own. If it has not, no further one gets them under this snapshot, and those that
    /// have are known from then on without asking.
    fn admit(&mut self, zone: &Name, snapshot: &Snapshot) -> bool {
        let is_own = self.zones.admit(zone, snapshot);
        if !is_own {
            self.is_full = true;
            let zones = self.zones.0.lock();
            let missing: Vec<_> =
                zones.iter().filter(|zone| !self.by_zone.contains_key(*zone)).cloned().collect();
            self.by_zone.extend(missing.into_iter().map(|zone| (zone, Vec::new())));
        }
        is_own
    }

    fn log(&self, AnsweredQuery { query, client, answered }: AnsweredQuery<'_>) {
        let name = Query::read(query).ok().and_then(|query| Name::from_wire(query.name()));
        self.events.emit(&DnsQuery {
            name: name.map(|name| name.to_string()),
            query_type: word(answered.query_type),
            code: answered.rcode.word(),
            protocol: self.protocol,
            client: client.to_string(),
            zone: answered.zone.map(ToString::to_string),
            bytes: answered.bytes,
            is_truncated: answered.is_truncated,
        });
    }
}

fn word(query_type: u16) -> &'static str {
    match query_type {
        6 => "SOA",
        251 => "IXFR",
        252 => "AXFR",
        255 => "ANY",
        other => RecordType::of_number(other).map_or("other", RecordType::word),
    }
}
