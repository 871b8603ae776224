//! DNS records of a zone.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::sync::Arc;

use dns::{Name, Rdata};
use equivalent::{Comparable, Equivalent};
use imbl::OrdSet;
use serde::{Deserialize, Serialize};

use crate::{Declared, RecordId, RecordNotes, RecordTime, ZoneId};

/// A record as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DnsRecord {
    pub id: RecordId,
    pub zone: ZoneId,
    pub name: Name,
    #[serde(flatten)]
    pub rdata: Rdata,
    /// Seconds; [`DnsRecord::AUTOMATIC_TTL`] leaves it to the server.
    pub ttl: u32,
    /// Whether resolvers get the edge's addresses, and the edge asks what the record names.
    #[serde(default, skip_serializing_if = "is_default")]
    pub proxied: bool,
    /// Whether a TXT record is shown without quotes, as it was sent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_unquoted: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub settings: RecordSettings,
    #[serde(flatten)]
    pub notes: RecordNotes,
    pub created_on: RecordTime,
    pub modified_on: RecordTime,
}

/// What a record asks of the server beside its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordSettings {
    /// Whether a proxied name has the edge's IPv4 addresses only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ipv4_only: Option<bool>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub ipv6_only: Option<bool>,
    /// Whether a CNAME is answered with the addresses that it leads to.
    #[serde(default, skip_serializing_if = "is_default")]
    pub flatten_cname: Option<bool>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl DnsRecord {
    /// The TTL that stands for one which the server chooses.
    pub const AUTOMATIC_TTL: u32 = 1;
    /// What it chooses, in seconds (spec, "TTL rules").
    pub const CHOSEN_TTL: u32 = 300;

    /// Seconds that resolvers keep it.
    pub fn effective_ttl(&self) -> u32 {
        if self.proxied || self.ttl == Self::AUTOMATIC_TTL { Self::CHOSEN_TTL } else { self.ttl }
    }
}

/// A record in the order of names. It holds no key of its own: a zone has millions of them.
#[derive(Clone, Debug)]
struct ByName(Arc<Declared<DnsRecord>>);

impl Ord for ByName {
    /// One that took the place of another is another, so that copies of a zone that have one and the other differ.
    fn cmp(&self, other: &Self) -> Ordering {
        let order = (&self.0.name, self.0.id).cmp(&(&other.0.name, other.0.id));
        order.then_with(|| Arc::as_ptr(&self.0).cmp(&Arc::as_ptr(&other.0)))
    }
}

impl PartialOrd for ByName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ByName {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ByName {}

/// Stands before all records of a name.
struct BeforeName<'n>(&'n Name);

impl Equivalent<ByName> for BeforeName<'_> {
    fn equivalent(&self, _: &ByName) -> bool {
        false
    }
}

impl Comparable<ByName> for BeforeName<'_> {
    fn compare(&self, record: &ByName) -> Ordering {
        self.0.cmp(&record.0.name).then(Ordering::Less)
    }
}

/// A record in the order of ids. No two records of a zone have the same id.
#[derive(Clone, Debug)]
struct ById(Arc<Declared<DnsRecord>>);

impl Ord for ById {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.id.cmp(&other.0.id)
    }
}

impl PartialOrd for ById {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ById {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ById {}

impl Borrow<RecordId> for ById {
    fn borrow(&self) -> &RecordId {
        &self.0.id
    }
}

/// The records of a zone. A copy shares what it does not change.
#[derive(Clone, Debug, Default)]
pub struct ZoneRecords {
    by_name: OrdSet<ByName>,
    by_id: OrdSet<ById>,
    /// The revision of the store that last changed one of them.
    revision: u64,
    /// The zone as the last record names it: the others share that.
    zone: Option<ZoneId>,
}

impl PartialEq for ZoneRecords {
    fn eq(&self, other: &Self) -> bool {
        self.revision == other.revision && self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl ZoneRecords {
    /// Puts a record that a revision made. It shares the name of its zone with the one before.
    pub fn put_record(&mut self, mut record: DnsRecord, revision: u64) {
        match &self.zone {
            Some(zone) if record.zone == *zone => record.zone.clone_from(zone),
            _ => self.zone = Some(record.zone.clone()),
        }
        self.put(Arc::new(Declared::at_revision(record, revision)), revision);
    }

    pub fn put(&mut self, record: Arc<Declared<DnsRecord>>, revision: u64) {
        self.remove(&record.id, revision);
        self.by_id.insert(ById(Arc::clone(&record)));
        self.by_name.insert(ByName(record));
    }

    pub fn remove(&mut self, id: &RecordId, revision: u64) {
        if let Some(ById(record)) = self.by_id.remove(id) {
            self.by_name.remove(&ByName(record));
        }
        self.changed_at(revision);
    }

    pub fn get(&self, id: &RecordId) -> Option<&Arc<Declared<DnsRecord>>> {
        self.by_id.get(id).map(|ById(record)| record)
    }

    /// The records at a name.
    pub fn at<'r, 'n>(
        &'r self,
        name: &'n Name,
    ) -> impl Iterator<Item = &'r Arc<Declared<DnsRecord>>> + use<'r, 'n> {
        let from_there = self.by_name.range(BeforeName(name)..).map(|ByName(record)| record);
        from_there.take_while(move |record| record.name == *name)
    }

    /// The records of a name, or of the wildcard that stands for it. A name that has records ends what wildcards above it
    /// stand for (RFC 4592).
    pub fn standing_for(&self, name: &Name) -> Vec<&Arc<Declared<DnsRecord>>> {
        let mut found: Vec<_> = self.at(name).collect();
        let mut above = name.parent();
        while let Some(encloser) = above.filter(|encloser| found.is_empty() && !encloser.is_root()) {
            if let Some(wildcard) = encloser.below(b"*") {
                found.extend(self.at(&wildcard));
            }
            if self.at(&encloser).next().is_some() {
                break;
            }
            above = encloser.parent();
        }
        found
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Declared<DnsRecord>>> {
        self.by_name.iter().map(|ByName(record)| record)
    }

    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Notes that a revision changed the records, if only by a deletion.
    pub fn changed_at(&mut self, revision: u64) {
        self.revision = self.revision.max(revision);
    }

    /// The names whose records are not those of `before`, each once. What both share is not looked at.
    pub fn changed_names<'r>(&'r self, before: &'r Self) -> Vec<&'r Name> {
        use imbl::ordset::DiffItem;
        let changed = before.by_name.diff(&self.by_name);
        let mut names: Vec<&Name> = changed
            .map(|item| match item {
                DiffItem::Add(ByName(record)) | DiffItem::Remove(ByName(record)) => &record.name,
            })
            .collect();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests {
    use dns::RecordType;

    use super::*;

    fn nth_id(nth: usize) -> RecordId {
        RecordId::parse(&format!("{nth:032x}")).unwrap()
    }

    fn records(lines: &[(&str, &str, &str)]) -> ZoneRecords {
        let mut records = ZoneRecords::default();
        for (nth, (name, kind, data)) in lines.iter().enumerate() {
            let record = serde_json::json!({"id": nth_id(nth), "zone": "z", "name": name, "type": kind, "rdata": data,
                "ttl": 1, "created_on": "", "modified_on": ""});
            records.put(Arc::new(Declared::at_revision(serde_json::from_value(record).unwrap(), 1)), 1);
        }
        records
    }

    #[test]
    fn a_record_that_moves_or_changes_is_found_once_and_both_its_names_have_changed() {
        let before = records(&[("a.example.com", "A", "192.0.2.1"), ("b.example.com", "A", "192.0.2.2")]);
        let name = |text: &str| Name::parse(text, None).unwrap();
        let id = nth_id(0);
        let known = before.get(&id).unwrap();
        let change = |change: &dyn Fn(&mut DnsRecord)| {
            let mut record = known.value.clone();
            change(&mut record);
            let mut after = before.clone();
            after.put_record(record, 2);
            after
        };
        let moved = change(&|record| record.name = name("c.example.com"));
        assert_eq!((moved.len(), moved.iter().count(), moved.revision()), (2, 2, 2));
        assert_eq!(
            (moved.at(&name("a.example.com")).count(), moved.at(&name("c.example.com")).count()),
            (0, 1)
        );
        assert_eq!(moved.changed_names(&before), [&name("a.example.com"), &name("c.example.com")]);
        let changed = change(&|record| record.ttl = 60);
        assert_eq!((changed.len(), changed.get(&id).unwrap().ttl, before.get(&id).unwrap().ttl), (2, 60, 1));
        assert_eq!(changed.changed_names(&before), [&name("a.example.com")]);
        assert!(
            changed != before && before.clone() == before && before.changed_names(&before.clone()).is_empty()
        );
        let mut gone = before.clone();
        gone.remove(&id, 3);
        assert_eq!(
            (gone.len(), gone.get(&id).is_none(), gone.at(&name("a.example.com")).count()),
            (1, true, 0)
        );
        assert_eq!(gone.changed_names(&before), [&name("a.example.com")]);
    }

    /// A zone has millions of them: what is added to each is added a million times. Nothing of it but its name and its
    /// data stands elsewhere, if it has no notes.
    #[test]
    fn a_record_takes_128_bytes_and_its_notes_none_if_there_are_none() {
        assert_eq!(size_of::<Declared<DnsRecord>>(), 128);
        let record = serde_json::json!({"id": nth_id(7), "zone": "z", "name": "a.example.com", "type": "A",
            "rdata": "192.0.2.1", "ttl": 60, "created_on": "", "modified_on": ""});
        let read = |record: &serde_json::Value| serde_json::from_value::<DnsRecord>(record.clone()).unwrap();
        assert_eq!(read(&record).notes, RecordNotes::default());
        assert_eq!(serde_json::to_value(read(&record)).unwrap(), record);
        let mut noted = record;
        noted["comment"] = "note".into();
        noted["tags"] = serde_json::json!(["a:b"]);
        noted["tags_modified_on"] = "2026-01-01T00:00:00.000000Z".into();
        assert_eq!(serde_json::to_value(read(&noted)).unwrap(), noted);
    }

    #[test]
    fn wildcards_stand_for_names_that_do_not_exist() {
        let records = records(&[
            ("*.example.com", "A", "198.51.100.1"),
            ("real.example.com", "TXT", "x"),
            ("*.deep.real.example.com", "A", "198.51.100.2"),
        ]);
        let found = |name: &str| -> Vec<String> {
            let name = Name::parse(name, None).unwrap();
            records.standing_for(&name).iter().map(|record| record.rdata.text().to_owned()).collect()
        };
        assert_eq!(found("a.example.com"), ["198.51.100.1"]);
        assert_eq!(found("a.b.example.com"), ["198.51.100.1"]);
        assert_eq!(found("real.example.com"), ["\"x\""]);
        assert!(found("a.real.example.com").is_empty() && found("example.com").is_empty());
        assert_eq!(found("a.deep.real.example.com"), ["198.51.100.2"]);
        let id = records.at(&Name::parse("real.example.com", None).unwrap()).next().unwrap().id;
        assert_eq!(id, nth_id(1));
        assert!(Rdata::parse(RecordType::A, "x", None).is_err());
    }
}
