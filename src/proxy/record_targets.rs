//! Proxied DNS records of a host to what the edge asks for it.

use std::net::IpAddr;
use std::sync::Arc;

use dns::answer::MAX_CHAIN;
use dns::{Name, RecordType};
use model::{Declared, DnsRecord, Zone, ZoneRecords};

use crate::snapshot::{Site, Snapshot};

/// What a record leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RecordTarget {
    Address(IpAddr),
    /// A host of elsewhere.
    Host(String),
}

/// Why a host leads nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoTarget {
    /// The zone has no proxied record of the host.
    NoRecord,
    /// It leads to this edge, or to a private network.
    Prohibited,
    /// It leads to a zone of another account.
    OtherAccount,
    /// What it leads to has no address.
    Unresolved,
}

/// What the edge asks for a host of a zone, by its proxied records; `None` if the zone has no records at all.
pub(super) fn targets(
    snapshot: &Snapshot,
    zone: &Zone,
    host: &str,
) -> Option<Result<Vec<RecordTarget>, NoTarget>> {
    let records = snapshot.resources.records.get(&zone.id).filter(|records| !records.is_empty())?;
    let name = Name::parse(host, None).ok()?;
    let found: Vec<_> = at(records, &name).into_iter().filter(|record| is_address(record)).collect();
    // If one is proxied, all are.
    if !found.iter().any(|record| record.proxied) {
        return Some(Err(NoTarget::NoRecord));
    }
    let mut targets = Vec::new();
    let followed =
        found.iter().try_for_each(|record| follow(snapshot, zone, record, MAX_CHAIN, &mut targets));
    targets.sort_by_key(|target| match target {
        RecordTarget::Address(address) => (Some(*address), String::new()),
        RecordTarget::Host(host) => (None, host.clone()),
    });
    targets.dedup();
    Some(match followed {
        Err(none) => Err(none),
        Ok(()) if targets.is_empty() => Err(NoTarget::Unresolved),
        Ok(()) => Ok(targets),
    })
}

fn is_address(record: &DnsRecord) -> bool {
    record.rdata.record_type().is_proxiable()
}

/// The records of a name, or of the wildcard that stands for it.
fn at<'r>(records: &'r ZoneRecords, name: &Name) -> Vec<&'r Arc<Declared<DnsRecord>>> {
    let found: Vec<_> = records.at_in(name).collect();
    if !found.is_empty() {
        return found;
    }
    let mut above = name.parent();
    while let Some(encloser) = above.filter(|encloser| !encloser.is_root()) {
        if let Some(wildcard) = encloser.below(b"*") {
            let found: Vec<_> = records.at_in(&wildcard).collect();
            if !found.is_empty() {
                return found;
            }
        }
        // A name that exists ends what wildcards above it stand for (RFC 4592).
        if records.at_in(&encloser).next().is_some() {
            return Vec::new();
        }
        above = encloser.parent();
    }
    Vec::new()
}

fn follow(
    snapshot: &Snapshot,
    zone: &Zone,
    record: &DnsRecord,
    steps: usize,
    targets: &mut Vec<RecordTarget>,
) -> Result<(), NoTarget> {
    if let Some(address) = record.rdata.address() {
        if !snapshot.dns.may_be_origin(address) {
            return Err(NoTarget::Prohibited);
        }
        targets.push(RecordTarget::Address(address));
        return Ok(());
    }
    let Some(target) = record.rdata.target().filter(|_| record.rdata.record_type() == RecordType::Cname)
    else {
        return Ok(());
    };
    let host = target.to_string();
    let Some(Site::Zone(other)) = snapshot.sites.find(&host) else {
        targets.push(RecordTarget::Host(host));
        return Ok(());
    };
    if other.source.account != zone.account {
        return Err(NoTarget::OtherAccount);
    }
    let Some(steps) = steps.checked_sub(1) else { return Err(NoTarget::Unresolved) };
    let records = snapshot.resources.records.get(&other.id);
    let found = records.map(|records| at(records, &target)).unwrap_or_default();
    found
        .into_iter()
        .filter(|record| is_address(record))
        .try_for_each(|record| follow(snapshot, zone, record, steps, targets))
}

#[cfg(test)]
mod tests {
    use dns::Rdata;
    use model::RecordId;

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
            at(&records, &name).iter().map(|record| record.rdata.text().to_owned()).collect()
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
