//! DNS records of a zone.

use std::sync::Arc;

use dns::{Name, Rdata};
use imbl::OrdMap;
use serde::{Deserialize, Serialize};

use crate::{Declared, RecordId, ZoneId};

/// A record as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "is_default")]
    pub comment: Option<Box<str>>,
    /// Each `name:value`, or a name alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tags: Box<[Box<str>]>,
    /// RFC 3339, as the others.
    pub created_on: Arc<str>,
    pub modified_on: Arc<str>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub comment_modified_on: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub tags_modified_on: Option<Arc<str>>,
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

/// The records of a zone. A copy shares what it does not change.
#[derive(Clone, Debug, Default)]
pub struct ZoneRecords {
    by_name: OrdMap<(Name, RecordId), Arc<Declared<DnsRecord>>>,
    names: OrdMap<RecordId, Name>,
    /// The revision of the store that last changed one of them.
    revision: u64,
    /// What many records have, of the last one: they share it.
    last: Option<(ZoneId, Arc<str>)>,
}

impl PartialEq for ZoneRecords {
    fn eq(&self, other: &Self) -> bool {
        self.by_name == other.by_name && self.revision == other.revision
    }
}

impl ZoneRecords {
    /// Puts a record that a revision made. It shares its zone and times with the one before where they are the same.
    pub fn put_record(&mut self, mut record: DnsRecord, revision: u64) {
        if let Some((zone, time)) = &self.last {
            if record.zone == *zone {
                record.zone.clone_from(zone);
            }
            if record.created_on == *time {
                record.created_on.clone_from(time);
            }
        }
        if record.modified_on == record.created_on {
            record.modified_on.clone_from(&record.created_on);
        }
        self.last = Some((record.zone.clone(), Arc::clone(&record.created_on)));
        self.put(Arc::new(Declared::at_revision(record, revision)), revision);
    }

    pub fn put(&mut self, record: Arc<Declared<DnsRecord>>, revision: u64) {
        let (id, name) = (record.id.clone(), record.name.clone());
        if let Some(before) = self.names.insert(id.clone(), name.clone()).filter(|before| *before != name) {
            self.by_name.remove(&(before, id.clone()));
        }
        self.by_name.insert((name, id), record);
        self.revision = self.revision.max(revision);
    }

    pub fn remove(&mut self, id: &RecordId, revision: u64) {
        if let Some(name) = self.names.remove(id) {
            self.by_name.remove(&(name, id.clone()));
        }
        self.revision = self.revision.max(revision);
    }

    pub fn get(&self, id: &RecordId) -> Option<&Arc<Declared<DnsRecord>>> {
        let name = self.names.get(id)?;
        self.by_name.get(&(name.clone(), id.clone()))
    }

    /// The records at a name.
    pub fn at<'r, 'n>(
        &'r self,
        name: &'n Name,
    ) -> impl Iterator<Item = &'r Arc<Declared<DnsRecord>>> + use<'r, 'n> {
        // INVARIANT: no id is before the empty one.
        let from = (name.clone(), RecordId::new(""));
        self.by_name.range(from..).take_while(move |((of, _), _)| of == name).map(|(_, record)| record)
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
        self.by_name.values()
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
        use imbl::ordmap::DiffItem;
        let mut names: Vec<&Name> = before
            .by_name
            .diff(&self.by_name)
            .map(|item| match item {
                DiffItem::Add((name, _), _) | DiffItem::Remove((name, _), _) => name,
                DiffItem::Update { new: ((name, _), _), .. } => name,
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

    fn records(lines: &[(&str, &str, &str)]) -> ZoneRecords {
        let mut records = ZoneRecords::default();
        for (nth, (name, kind, data)) in lines.iter().enumerate() {
            let record = serde_json::json!({"id": nth.to_string(), "zone": "z", "name": name, "type": kind, "rdata": data,
                "ttl": 1, "created_on": "", "modified_on": ""});
            records.put(Arc::new(Declared::at_revision(serde_json::from_value(record).unwrap(), 1)), 1);
        }
        records
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
        let id = records.at(&Name::parse("real.example.com", None).unwrap()).next().unwrap().id.clone();
        assert_eq!(id, RecordId::new("1"));
        assert!(Rdata::parse(RecordType::A, "x", None).is_err());
    }
}
