//! Verification of custom hostnames: each is looked at when it is due, and what follows is written.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hostnames::verification::{self, Outcome};
use hostnames::{Seen, fallback};
use model::{CertificatePack, CustomHostname, Declared, HostnameId, Resources};
use store::Change;

use super::LastLooks;
use super::look::{Looked, Looker, LookerInUse, Question};
use super::schedule::{DueResources, TasksById};
use crate::clock::{Clock, rfc3339};
use crate::control::{Control, Write};
use crate::events::Events;
use crate::events::kinds::HostnameChanged;
use crate::snapshot::{Site, Snapshot};

/// How often it is looked what is due.
const TICK: Duration = Duration::from_millis(100);
/// Most hostnames that are looked at at once.
const MAX_AT_ONCE: usize = 256;
/// Where the name of the TXT record of a hostname begins.
const OWNERSHIP_LABEL: &str = "_svc-custom-hostname";
/// Where the path of the page that proves the same begins.
const OWNERSHIP_PATH: &str = "/.well-known/svc-custom-hostname-challenge/";

/// Where the records are that prove a hostname.
pub fn question(hostname: &CustomHostname) -> Question {
    Question {
        host: hostname.hostname.to_string(),
        text_name: format!("{OWNERSHIP_LABEL}.{}", hostname.hostname),
        page_path: format!("{OWNERSHIP_PATH}{}", hostname.id),
    }
}

/// What was found, in the terms of verification.
pub fn seen(snapshot: &Snapshot, hostname: &CustomHostname, looked: &Looked, now: &str) -> Seen {
    let resources = &snapshot.resources;
    let Some(zone) = resources.zones.get(&hostname.zone) else { return Seen::default() };
    let own = &snapshot.dns.addresses;
    let is_own = |address: &IpAddr| own.iter().any(|own| own.to_canonical() == address.to_canonical());
    let token = hostname.ownership_token.to_string();
    let leads_here = |aliases: &Vec<String>| aliases.iter().any(|alias| fallback::is_in_zone(zone, alias));
    let has_own = |addresses: &Vec<IpAddr>| !addresses.is_empty() && addresses.iter().all(is_own);
    let above = zones_above(snapshot, hostname);
    let has_alias_here = match leads_by_record(resources, &above, zone, hostname) {
        true => Some(true),
        false => looked.aliases.as_ref().map(leads_here),
    };
    let others = snapshot.hostnames.of_name(&hostname.hostname);
    let has_aliases = looked.aliases.as_ref().is_some_and(|aliases| !aliases.is_empty());
    let has_addresses = looked.addresses.as_ref().is_some_and(|addresses| !addresses.is_empty());
    let has_text = looked.texts.iter().flatten().any(|text| *text == token);
    let holds = |other: &Declared<model::Zone>| {
        other.account != zone.account
            && other.hold.as_ref().is_some_and(|hold| {
                hold.is_in_force(now) && (hold.include_subdomains || *other.name == *hostname.hostname)
            })
    };
    Seen {
        has_alias_here,
        has_own_addresses: looked.addresses.as_ref().map(has_own),
        has_addresses: has_addresses && !has_aliases,
        has_text,
        has_page: looked.page.as_deref() == Some(token.as_str()),
        is_held: above.iter().any(|other| holds(other)),
        is_in_zone: !above.is_empty(),
        is_served_elsewhere: others
            .iter()
            .any(|other| other.hostname.id != hostname.id && other.hostname.status.is_served()),
        fallback: fallback::state(zone, resources.records.get(&zone.id)),
    }
}

/// The zones of this server that have a hostname, but for the one that serves it.
fn zones_above<'s>(snapshot: &'s Snapshot, hostname: &CustomHostname) -> Vec<&'s Declared<model::Zone>> {
    let mut name = &*hostname.hostname;
    let mut zones = Vec::new();
    loop {
        match snapshot.sites.get(name) {
            Some(Site::Zone(zone)) if zone.id != hostname.zone => zones.push(&*zone.source),
            _ => {}
        }
        match name.split_once('.') {
            Some((_, above)) => name = above,
            None => return zones,
        }
    }
}

/// Whether a record of another zone of this server leads from a hostname to the zone that is to serve it. Resolvers do not
/// see that if the record is proxied or flattened.
fn leads_by_record(
    resources: &Resources,
    above: &[&Declared<model::Zone>],
    zone: &model::Zone,
    hostname: &CustomHostname,
) -> bool {
    let Ok(name) = dns::Name::parse(&hostname.hostname, None) else { return false };
    above.iter().any(|other| {
        let records = resources.records.get(&other.id);
        let found = records.map(|records| records.standing_for(&name)).unwrap_or_default();
        found
            .iter()
            .filter(|record| record.rdata.record_type() == dns::RecordType::Cname)
            .filter_map(|record| record.rdata.target())
            .any(|target| fallback::is_in_zone(zone, &target.to_string()))
    })
}

/// What one look found.
pub struct Found {
    /// The hostname as it was when it was looked at.
    pub hostname: Arc<Declared<CustomHostname>>,
    pub looked: Looked,
}

/// Verifies custom hostnames.
pub struct Verifying {
    control: Control,
    looks: LastLooks,
    events: Events,
    schedule: DueResources<HostnameId, CustomHostname>,
    seen_revision: u64,
}

impl Verifying {
    pub fn new(control: Control, looks: LastLooks, events: Events) -> Self {
        let schedule = DueResources::new(|hostname: &CustomHostname| hostname.next_check);
        Self { control, looks, events, schedule, seen_revision: 0 }
    }

    /// Takes those that are due, `now` in seconds since the epoch.
    pub fn take(&mut self, now: u64, most: usize) -> Vec<Arc<Declared<CustomHostname>>> {
        let snapshot = self.control.handle().load();
        if self.seen_revision != snapshot.revision {
            self.schedule.follow(&snapshot.resources.hostnames);
            self.seen_revision = snapshot.revision;
        }
        let taken = self.schedule.take(now, most);
        self.schedule.measure("hostname", &self.events);
        taken
    }

    /// Writes what follows from looks, as one change.
    pub async fn settle(&mut self, found: Vec<Found>, now: (u64, String)) {
        if found.is_empty() {
            return;
        }
        let (seconds, at) = now;
        for found in &found {
            self.looks.keep(found.hostname.id, seconds, found.looked.clone());
        }
        let ids: Vec<HostnameId> = found.iter().map(|found| found.hostname.id).collect();
        let before: Vec<_> = found.iter().map(|found| Arc::clone(&found.hostname)).collect();
        let handle = self.control.handle().clone();
        let edit =
            move |resources: &Resources| Ok(changes(&handle.load(), resources, &found, (seconds, &at)));
        // What cannot be written now is looked at again with the next tick.
        let applied = self.control.write(Write::of("verification", edit)).await;
        ids.iter().for_each(|id| self.schedule.done(id));
        if let Ok(applied) = applied {
            for known in before {
                self.tell(&known, applied.resources.hostnames.get(&known.id).map(|next| &next.value));
            }
        }
    }

    fn tell(&self, known: &CustomHostname, next: Option<&CustomHostname>) {
        let to = next.map_or("deleted", |next| next.status.word());
        if to == known.status.word() {
            return;
        }
        self.events.emit(&HostnameChanged {
            hostname: known.hostname.to_string(),
            id: known.id.to_string(),
            zone: known.zone.to_string(),
            from: known.status.word(),
            to,
            errors: next.map(|next| next.verification_errors.join(" ")).unwrap_or_default(),
        });
    }

    /// How many are looked at now.
    fn under_way(&self) -> usize {
        self.schedule.under_way()
    }
}

/// What looks change. Of a hostname that was changed since it was looked at, nothing: it is looked at again.
fn changes(
    snapshot: &Snapshot,
    resources: &Resources,
    found: &[Found],
    (now, at): (u64, &str),
) -> Vec<Change> {
    let mut changes = Vec::new();
    for Found { hostname, looked } in found {
        let Some(known) = resources.hostnames.get(&hostname.id).filter(|known| known.value == hostname.value)
        else {
            continue;
        };
        let seen = seen(snapshot, known, looked, at);
        match verification::after_check(known, &seen, now) {
            Outcome::Changed(next) => {
                if next.status.is_served() && !known.status.is_served() {
                    changes.extend(superseded(snapshot, resources, &next, now));
                    changes.extend(woken(resources, &next, now));
                }
                changes.push(Change::PutHostname { hostname: next });
            }
            Outcome::Deleted => {
                changes.push(Change::DeleteHostname { zone: known.zone.clone(), id: known.id });
                let pack = known.pack.and_then(|id| resources.packs.get(&id));
                changes
                    .extend(pack.into_iter().flat_map(|pack| crate::certificates::deletion(resources, pack)));
            }
        }
    }
    changes
}

/// The pack of a hostname that is verified now, which waits for that.
fn woken(resources: &Resources, next: &CustomHostname, now: u64) -> Option<Change> {
    let pack = resources.packs.get(&next.pack?)?;
    let waits = pack.certificates.is_empty() && pack.order.is_none() && !pack.is_forbidden_by_caa;
    let pack = CertificatePack { next_step: now, errors: Vec::new(), ..pack.value.clone() };
    waits.then(|| Change::PutPack { pack: Box::new(pack) })
}

/// Others of the same name that are served: the last one that was verified has it.
fn superseded(snapshot: &Snapshot, resources: &Resources, next: &CustomHostname, now: u64) -> Vec<Change> {
    let others = snapshot.hostnames.of_name(&next.hostname).iter().map(|site| site.hostname.id);
    let others = others.filter(|id| *id != next.id).filter_map(|id| resources.hostnames.get(&id));
    let served = others.filter(|other| other.status.is_served());
    served
        .map(|other| Change::PutHostname { hostname: Box::new(verification::superseded(other, now)) })
        .collect()
}

/// Verifies for as long as it is polled.
pub async fn run(control: Control, looks: LastLooks, events: Events, clock: Clock) {
    let mut verifying = Verifying::new(control.clone(), looks, events);
    let (mut lookers, mut under_way) = (LookerInUse::default(), TasksById::default());
    loop {
        tokio::time::sleep(TICK).await;
        let room = MAX_AT_ONCE.saturating_sub(verifying.under_way());
        let due = verifying.take(clock.unix().as_secs(), room);
        let looker = lookers.of(&control.handle().load());
        for hostname in due {
            let looker = looker.cloned();
            under_way.spawn(hostname.id, async move {
                let looked = match looker {
                    Some(looker) => looker.look(&question(&hostname)).await,
                    None => Looked::default(),
                };
                Found { hostname, looked }
            });
        }
        let mut found = Vec::new();
        for (id, one) in under_way.ended() {
            match one {
                Some(one) => found.push(one),
                // What broke off is due as before.
                None => verifying.schedule.done(&id),
            }
        }
        verifying.settle(found, (clock.unix().as_secs(), rfc3339(clock.now()))).await;
    }
}

#[cfg(test)]
mod tests;
