//! Certificates on demand: for names below zones that get certificates automatically, when a client asks for one and the
//! operator's server allows it.

use std::collections::HashMap;

use hostnames::fallback;
use model::certificate_pack::ValidationMethod;
use model::{CertificatePack, HostName, PackId, PackKind, Resources, Zone};
use store::Change;
use tokio::task::JoinSet;

use super::acme::ACTOR;
use super::look::ask_url;
use crate::certificates::{WantedNames, new_uuid};
use crate::clock::{Clock, rfc3339};
use crate::control::{Control, Write};
use crate::snapshot::{Site, Snapshot};

/// How long an answer about a name holds, in seconds.
const REMEMBERED: u64 = 600;
/// Most names that are remembered.
const MAX_REMEMBERED: usize = 4_096;
/// Most names that are asked for at once; others are asked for when a client wants them again.
const MAX_AT_ONCE: usize = 16;

/// What was wanted, and what waits for an answer.
pub(super) struct OnDemand {
    control: Control,
    wanted: WantedNames,
    clock: Clock,
    /// When names were asked for, in seconds since the epoch.
    asked: HashMap<String, u64>,
    under_way: JoinSet<Option<String>>,
}

impl OnDemand {
    pub(super) fn new(control: Control, wanted: WantedNames, clock: Clock) -> Self {
        Self { control, wanted, clock, asked: HashMap::new(), under_way: JoinSet::new() }
    }

    /// Asks for names that are wanted, and orders certificates of those that are allowed.
    pub(super) async fn tick(&mut self, snapshot: &Snapshot) {
        let now = self.clock.unix().as_secs();
        for name in self.wanted.take() {
            let Some(ask) = snapshot.certificate_settings.ask.clone() else { continue };
            let is_new = self.asked.get(&name).is_none_or(|at| now.saturating_sub(*at) >= REMEMBERED);
            if !is_new || self.under_way.len() >= MAX_AT_ONCE || zone_of(snapshot, &name).is_none() {
                continue;
            }
            if self.asked.len() >= MAX_REMEMBERED {
                self.asked.retain(|_, at| now.saturating_sub(*at) < REMEMBERED);
            }
            if self.asked.len() < MAX_REMEMBERED {
                self.asked.insert(name.clone(), now);
                self.under_way.spawn(async move { ask_url(&ask, &name).await.then_some(name) });
            }
        }
        while let Some(answered) = self.under_way.try_join_next() {
            if let Some(name) = answered.ok().flatten() {
                self.order(snapshot, &name).await;
            }
        }
    }

    async fn order(&self, snapshot: &Snapshot, name: &str) {
        let (Some(zone), Ok(id)) = (zone_of(snapshot, name), new_uuid()) else { return };
        let pack = CertificatePack::new(
            PackId(id),
            zone.id.clone(),
            PackKind::Advanced,
            (vec![name.to_owned()], ValidationMethod::Http),
            (self.clock.unix().as_secs(), rfc3339(self.clock.now())),
        );
        let edit = move |resources: &Resources| {
            let is_known = resources.packs.values().any(|known| known.hosts == pack.hosts);
            Ok(if is_known { Vec::new() } else { vec![Change::PutPack { pack: Box::new(pack.clone()) }] })
        };
        // What cannot be written now is asked for again.
        let _ = self.control.write(Write::of(ACTOR, edit)).await;
    }
}

/// The zone with certificates of its own that a name is below.
fn zone_of<'s>(snapshot: &'s Snapshot, name: &str) -> Option<&'s Zone> {
    HostName::parse(name).ok()?;
    match snapshot.sites.find(name)? {
        Site::Zone(zone) => {
            let zone = &zone.source.value;
            (zone.tls.is_automatic && fallback::is_in_zone(zone, name)).then_some(zone)
        }
        Site::Gateway | Site::Names => None,
    }
}
