//! Proxied DNS records of a host to what the edge asks for it.

use std::net::IpAddr;

use dns::answer::MAX_CHAIN;
use dns::{Name, RecordType};
use model::{DnsRecord, Zone};

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
    let found: Vec<_> = records.standing_for(&name).into_iter().filter(|record| is_address(record)).collect();
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
    let found = records.map(|records| records.standing_for(&target)).unwrap_or_default();
    found
        .into_iter()
        .filter(|record| is_address(record))
        .try_for_each(|record| follow(snapshot, zone, record, steps, targets))
}
