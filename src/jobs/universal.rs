//! Certificates that zones have by themselves, if they ask for them.

use model::certificate_pack::{BundleMethod, TlsSettings, ValidationMethod};
use model::{CertificatePack, PackId, PackKind, PackStatus, Resources, Zone, ZoneId};
use sha2::{Digest, Sha256};
use store::Change;

use super::acme::ACTOR;
use super::challenge_records::is_answered;
use crate::certificates::deletion;
use crate::clock::{Clock, rfc3339};
use crate::control::{Control, Write};
use crate::events::Events;
use crate::snapshot::Snapshot;

/// The id of the pack that a zone has by itself: the same on every node.
fn universal_id(zone: &ZoneId) -> PackId {
    let digest = Sha256::digest(format!("universal\0{zone}"));
    let bytes = digest.first_chunk::<16>().copied().unwrap_or_default();
    PackId(uuid::Builder::from_random_bytes(bytes).into_uuid())
}

/// The names of the certificate of a zone: with its wildcard, if resolvers get the zone from here.
fn hosts(snapshot: &Snapshot, zone: &Zone) -> Vec<String> {
    let wildcard = is_answered(snapshot, zone).then(|| format!("*.{}", zone.name));
    std::iter::once(zone.name.clone()).chain(wildcard).collect()
}

/// Makes the packs of zones that ask for them, and takes those of others away.
pub(super) async fn keep_up(control: &Control, snapshot: &Snapshot, clock: Clock) {
    let changes = changes(snapshot, &snapshot.resources, clock);
    if changes.is_empty() {
        return;
    }
    let handle = control.handle().clone();
    let edit = move |resources: &Resources| Ok(self::changes(&handle.load(), resources, clock));
    let write = Write {
        actor: ACTOR.to_owned(),
        edit: Box::new(edit),
        expected: None,
        is_dry_run: false,
        request: None,
    };
    // What cannot be written now is written with the next snapshot.
    let _ = control.write(write).await;
}

fn changes(snapshot: &Snapshot, resources: &Resources, clock: Clock) -> Vec<Change> {
    let mut changes = Vec::new();
    let now = clock.unix().as_secs();
    for zone in resources.zones.values().filter(|zone| zone.tls.is_automatic) {
        let (id, hosts) = (universal_id(&zone.id), hosts(snapshot, zone));
        let method = if hosts.len() > 1 { ValidationMethod::Txt } else { ValidationMethod::Http };
        let pack = match resources.packs.get(&id) {
            Some(known) if known.hosts == hosts => continue,
            Some(known) => {
                let mut pack = CertificatePack { hosts, method, ..known.value.clone() };
                (pack.order, pack.attempts, pack.next_step) = (None, 0, now);
                pack
            }
            None => CertificatePack {
                id,
                zone: zone.id.clone(),
                kind: PackKind::Universal,
                hosts,
                method,
                certificate_authority: None,
                has_branding: false,
                bundle_method: BundleMethod::default(),
                settings: TlsSettings::default(),
                status: PackStatus::Initializing,
                since: now,
                attempts: 0,
                next_step: now,
                errors: Vec::new(),
                is_forbidden_by_caa: false,
                is_revoking: false,
                order: None,
                certificates: Vec::new(),
                created_on: rfc3339(clock.now()),
            },
        };
        changes.push(Change::PutPack { pack: Box::new(pack) });
    }
    let is_wanted = |pack: &CertificatePack| {
        pack.kind != PackKind::Universal
            || resources.zones.get(&pack.zone).is_some_and(|zone| zone.tls.is_automatic)
    };
    for pack in resources.packs.values().filter(|pack| !is_wanted(pack)) {
        changes.extend(deletion(resources, pack));
    }
    changes
}

/// Shows when the first of all certificates ends.
pub(super) fn measure(snapshot: &Snapshot, events: &Events) {
    let ends = snapshot.resources.packs.values().filter_map(|pack| pack.certificates.first());
    let soonest = ends.map(|newest| newest.expires).min().unwrap_or(0);
    events.metrics().certificates_soonest_expiry.set(i64::try_from(soonest).unwrap_or(i64::MAX));
}
