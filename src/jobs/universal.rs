//! Certificates that zones get automatically, if they ask for them.

use model::certificate_pack::ValidationMethod;
use model::{CertificatePack, PackId, PackKind, Resources, ZoneId};
use sha2::{Digest, Sha256};
use store::Change;

use super::acme::ACTOR;
use super::challenge_records::is_answered;
use crate::certificates::deletion;
use crate::clock::{Clock, rfc3339};
use crate::control::{Control, Write};
use crate::events::Events;
use crate::snapshot::Snapshot;

/// The id of the pack that a zone gets automatically: the same on every node.
fn universal_id(zone: &ZoneId) -> PackId {
    let digest = Sha256::digest(format!("universal\0{zone}"));
    let bytes = digest.first_chunk::<16>().copied().unwrap_or_default();
    PackId(uuid::Builder::from_random_bytes(bytes).into_uuid())
}

/// Makes the packs of zones that ask for them, and takes those of others away.
pub(super) async fn keep_up(control: &Control, snapshot: &Snapshot, clock: Clock) {
    let changes = changes(snapshot, &snapshot.resources, clock);
    if changes.is_empty() {
        return;
    }
    let handle = control.handle().clone();
    let edit = move |resources: &Resources| Ok(self::changes(&handle.load(), resources, clock));
    // What cannot be written now is written with the next snapshot.
    let _ = control.write(Write::of(ACTOR, edit)).await;
}

fn changes(snapshot: &Snapshot, resources: &Resources, clock: Clock) -> Vec<Change> {
    let mut changes = Vec::new();
    let now = clock.unix().as_secs();
    for zone in resources.zones.values().filter(|zone| zone.tls.is_automatic) {
        let id = universal_id(&zone.id);
        // A wildcard needs records, and those are seen if resolvers get the zone from here.
        let has_wildcard = is_answered(snapshot, zone);
        let hosts = CertificatePack::hosts_of(&zone.name, has_wildcard);
        let method = if has_wildcard { ValidationMethod::Txt } else { ValidationMethod::Http };
        let pack = match resources.packs.get(&id) {
            Some(known) if known.hosts == hosts => continue,
            Some(known) => {
                let mut pack = CertificatePack { hosts, method, ..known.value.clone() };
                (pack.order, pack.attempts, pack.next_step) = (None, 0, now);
                pack
            }
            None => {
                let at = (now, rfc3339(clock.now()));
                CertificatePack::new(id, zone.id.clone(), PackKind::Universal, (hosts, method), at)
            }
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
