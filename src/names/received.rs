//! Records that came from a primary, as changes of a zone.

use std::collections::BTreeMap;

use dns::receive::{ReceivedRecord, ZoneChange};
use dns::{Name, Rdata};
use model::{DnsRecord, RecordId, RecordNotes, RecordSettings, RecordTime, Resources, ZoneId};
use store::Change;

use crate::control::Declined;

/// What came of records.
pub(super) enum CameRecords {
    /// They are as they were.
    Same,
    Whole(Vec<ReceivedRecord>),
    Changes(Vec<ZoneChange>),
}

/// Name, data and type number of a record.
type RecordKey<'r> = (&'r Name, &'r [u8], u16);

fn key<'r>(name: &'r Name, rdata: &'r Rdata) -> RecordKey<'r> {
    (name, rdata.wire(), rdata.record_type().number())
}

/// The changes by which a zone has the records that came. Those that it has keep their ids, comments, tags, and whether they
/// are proxied.
pub(super) fn changes(
    resources: &Resources,
    zone: &ZoneId,
    records: &CameRecords,
    now: RecordTime,
) -> Result<Vec<Change>, Declined> {
    let known = resources.records.get(zone);
    let there: BTreeMap<RecordKey<'_>, &DnsRecord> = known
        .into_iter()
        .flat_map(|records| records.iter())
        .map(|record| (key(&record.name, &record.rdata), &record.value))
        .collect();
    // Of each that came or went, the last word.
    let mut wanted: BTreeMap<RecordKey<'_>, Option<&ReceivedRecord>> = BTreeMap::new();
    match records {
        CameRecords::Same => return Ok(Vec::new()),
        CameRecords::Whole(records) => {
            wanted.extend(there.keys().map(|key| (*key, None)));
            wanted.extend(records.iter().map(|record| (key(&record.name, &record.rdata), Some(record))));
        }
        CameRecords::Changes(changes) => {
            wanted.extend(changes.iter().map(|change| match change {
                ZoneChange::Removed(record) => (key(&record.name, &record.rdata), None),
                ZoneChange::Added(record) => (key(&record.name, &record.rdata), Some(record)),
            }));
        }
    }
    let (mut deleted, mut put) = (Vec::new(), Vec::new());
    for (key, wanted) in wanted {
        match (there.get(&key), wanted) {
            (Some(known), None) => {
                deleted.push(Change::DeleteRecord { zone: zone.clone(), id: known.id });
            }
            (Some(known), Some(wanted)) if known.ttl == wanted.ttl || known.proxied => {}
            (Some(known), Some(wanted)) => {
                let record = DnsRecord { ttl: wanted.ttl, modified_on: now, ..DnsRecord::clone(known) };
                put.push(Change::PutRecord { record: Box::new(record) });
            }
            (None, Some(wanted)) => {
                put.push(Change::PutRecord { record: Box::new(new_record(zone, wanted, now)?) });
            }
            (None, None) => {}
        }
    }
    deleted.append(&mut put);
    Ok(deleted)
}

fn new_record(zone: &ZoneId, received: &ReceivedRecord, now: RecordTime) -> Result<DnsRecord, Declined> {
    Ok(DnsRecord {
        id: RecordId::random()?,
        zone: zone.clone(),
        name: received.name.clone(),
        rdata: received.rdata.clone(),
        ttl: received.ttl,
        proxied: false,
        is_unquoted: false,
        settings: RecordSettings::default(),
        notes: RecordNotes::default(),
        created_on: now,
        modified_on: now,
    })
}
