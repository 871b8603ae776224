//! What the zones above have of signed zones: their DS records, asked for off the path of answers. Keys that are changed
//! go on by it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use dns::Name;
use dns::dnssec::ZoneKey;
use dns::zone::KEY_TTL;
use hickory_resolver::TokioResolver;
use hickory_resolver::proto::rr;
use model::{Declared, KeyRollover, RolloverStage, Zone, ZoneDnssec, ZoneId};
use parking_lot::Mutex;
use store::Change;
use tokio::task::JoinSet;

use super::resolver::{resolver_of, wire_of};
use crate::clock::{Clock, rfc3339};
use crate::control::{Control, Write};
use crate::snapshot::{ServedZone, Snapshot};

/// How often it is looked what is due.
const TICK: Duration = Duration::from_secs(1);
/// How often the zone above is asked, in seconds: while something changes, and else.
const WHILE_CHANGING: u64 = 10;
const ELSE: u64 = 3_600;
/// Most zones that are asked for in one tick.
const MAX_AT_ONCE: usize = 32;
/// How long a key that was is shown, in seconds: longer than any answer that it signed is kept.
const RETIRING: u64 = 2 * 86_400;

/// The DS records of a zone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParentDs {
    /// Data of each record.
    pub records: Vec<Vec<u8>>,
    /// Seconds.
    pub ttl: u32,
    /// Since when they are as they are, in seconds since the epoch.
    pub since: u64,
}

impl ParentDs {
    /// Whether the zone above vouches for a key.
    pub fn has(&self, key: &ZoneKey, apex: &Name) -> bool {
        self.records.contains(&key.ds(apex))
    }
}

/// The DS records of signed zones. Clones share them.
#[derive(Clone, Default)]
pub struct ParentRecords(Arc<Mutex<HashMap<Name, ParentDs>>>);

impl ParentRecords {
    /// What the zone above has; `None` if nobody could say yet.
    pub fn of(&self, apex: &Name) -> Option<ParentDs> {
        self.0.lock().get(apex).cloned()
    }

    fn found(&self, apex: &Name, mut records: Vec<Vec<u8>>, ttl: u32, now: u64) {
        records.sort();
        let mut known = self.0.lock();
        let since = known.get(apex).filter(|known| known.records == records).map_or(now, |known| known.since);
        known.insert(apex.clone(), ParentDs { records, ttl, since });
    }

    fn retain(&self, is_there: impl Fn(&Name) -> bool) {
        self.0.lock().retain(|apex, _| is_there(apex));
    }
}

/// A zone that has a key.
struct SignedZone {
    id: ZoneId,
    served: Arc<ServedZone>,
    zone: Arc<Declared<Zone>>,
}

impl SignedZone {
    fn apex(&self) -> &Name {
        self.served.zone.apex()
    }

    fn rollover(&self) -> Option<&KeyRollover> {
        self.zone.dnssec.as_deref().and_then(|dnssec| dnssec.rollover.as_ref())
    }

    /// Whether something is to change in the zone above.
    fn is_changing(&self, parents: &ParentRecords) -> bool {
        let Some(parent) = parents.of(self.apex()) else { return true };
        let (key, _) = self.served.zone.keys();
        let is_as_wanted = match key {
            Some(key) => parent.has(key, self.apex()),
            None => parent.records.is_empty(),
        };
        self.rollover().is_some() || !is_as_wanted
    }

    fn parent_state(&self, parents: &ParentRecords) -> Option<ParentState> {
        let parent = parents.of(self.apex())?;
        let has = |key: Option<&ZoneKey>| key.is_some_and(|key| parent.has(key, self.apex()));
        let (key, other) = self.served.zone.keys();
        Some(ParentState { has_key: has(key), has_other: has(other), ttl: parent.ttl, since: parent.since })
    }
}

/// Asks zones above, and lets keys go on, for as long as it is polled.
pub async fn run(control: Control, parents: ParentRecords, clock: Clock) {
    // When each zone was last asked for, answered or not.
    let mut asked: HashMap<ZoneId, u64> = HashMap::new();
    let (mut zones, mut seen) = (Vec::new(), 0);
    loop {
        tokio::time::sleep(TICK).await;
        let (snapshot, now) = (control.handle().load(), clock.unix().as_secs());
        if seen != snapshot.revision {
            (zones, seen) = (signed(&snapshot), snapshot.revision);
            let apexes: HashSet<&Name> = zones.iter().map(SignedZone::apex).collect();
            let ids: HashSet<&ZoneId> = zones.iter().map(|zone| &zone.id).collect();
            parents.retain(|apex| apexes.contains(apex));
            asked.retain(|id, _| ids.contains(id));
        }
        let is_due = |zone: &&SignedZone| {
            let every = if zone.is_changing(&parents) { WHILE_CHANGING } else { ELSE };
            asked.get(&zone.id).is_none_or(|asked| now.saturating_sub(*asked) >= every)
        };
        let due: Vec<&SignedZone> = zones.iter().filter(is_due).take(MAX_AT_ONCE).collect();
        if let Some(resolver) = (!due.is_empty()).then(|| resolver_of(&snapshot.dns.resolvers)).flatten() {
            let look_ups: JoinSet<_> =
                due.iter().map(|zone| look_up(resolver.clone(), zone.apex().clone())).collect();
            asked.extend(due.iter().map(|zone| (zone.id.clone(), now)));
            for (apex, records, ttl) in look_ups.join_all().await.into_iter().flatten() {
                parents.found(&apex, records, ttl, now);
            }
        }
        for zone in &zones {
            let Some(rollover) = zone.rollover() else { continue };
            if let Some(step) = next(rollover, zone.parent_state(&parents), now) {
                go_on(&control, zone.id.clone(), rollover.clone(), step, (now, rfc3339(clock.now()))).await;
            }
        }
    }
}

fn signed(snapshot: &Snapshot) -> Vec<SignedZone> {
    let zones = snapshot.names.served.iter().filter_map(|(id, served)| {
        let zone = snapshot.resources.zones.get(id).filter(|zone| zone.dnssec.is_some())?;
        Some(SignedZone { id: id.clone(), served: Arc::clone(served), zone: Arc::clone(zone) })
    });
    zones.collect()
}

/// What the zone above has of the keys of a zone.
#[derive(Clone, Copy, Debug)]
struct ParentState {
    has_key: bool,
    has_other: bool,
    ttl: u32,
    since: u64,
}

/// What a change of a key comes to next; `None` inside is its end.
fn next(rollover: &KeyRollover, parent: Option<ParentState>, now: u64) -> Option<Option<RolloverStage>> {
    let elapsed = now.saturating_sub(rollover.since);
    match rollover.stage {
        // By then every resolver that has the keys has this one, too.
        RolloverStage::Published => (elapsed >= u64::from(KEY_TTL)).then_some(Some(RolloverStage::Announced)),
        // By then no resolver has the DS record that was.
        RolloverStage::Announced => {
            let is_over = |parent: ParentState| {
                parent.has_other
                    && !parent.has_key
                    && now.saturating_sub(parent.since) >= u64::from(parent.ttl)
            };
            parent.is_some_and(is_over).then_some(Some(RolloverStage::Retiring))
        }
        RolloverStage::Retiring => (elapsed >= RETIRING).then_some(None),
    }
}

/// Goes on with the change of a key, if it is as it was when that was decided.
async fn go_on(
    control: &Control,
    id: ZoneId,
    known: KeyRollover,
    step: Option<RolloverStage>,
    (now, at): (u64, String),
) {
    let edit = move |resources: &model::Resources| {
        let zone = resources.zones.get(&id);
        let dnssec = zone.and_then(|zone| zone.dnssec.as_deref());
        let (Some(zone), Some(dnssec)) = (zone, dnssec) else { return Ok(Vec::new()) };
        if dnssec.rollover.as_ref() != Some(&known) {
            return Ok(Vec::new());
        }
        let dnssec = match step {
            Some(stage) => dnssec.advanced(stage, now),
            None => ZoneDnssec { rollover: None, ..dnssec.clone() },
        };
        let zone = Zone { dnssec: Some(Box::new(dnssec)), modified_on: at.clone(), ..zone.value.clone() };
        Ok(vec![Change::PutZone { zone: Box::new(zone) }])
    };
    // What cannot be written now is tried with the next tick.
    let _ = control.write(Write::of("dnssec", edit)).await;
}

/// The DS records of a zone and their TTL; `None` if nobody could say.
async fn look_up(resolver: TokioResolver, apex: Name) -> Option<(Name, Vec<Vec<u8>>, u32)> {
    match resolver.lookup(format!("{apex}."), rr::RecordType::DS).await {
        Ok(found) => {
            let records = found.answers().iter().filter(|record| record.record_type() == rr::RecordType::DS);
            let ttl = found.answers().iter().map(|record| record.ttl).max().unwrap_or(0);
            Some((apex, records.filter_map(wire_of).collect(), ttl))
        }
        Err(error) if error.is_no_records_found() || error.is_nx_domain() => Some((apex, Vec::new(), 0)),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rollover(stage: RolloverStage) -> KeyRollover {
        KeyRollover { stage, key: String::new(), is_sealed: false, since: 1_000_000 }
    }

    #[test]
    fn keys_go_on_when_nobody_can_have_what_was() {
        let hour = u64::from(KEY_TTL);
        let published = rollover(RolloverStage::Published);
        assert_eq!(next(&published, None, 1_000_000 + hour - 1), None);
        assert_eq!(next(&published, None, 1_000_000 + hour), Some(Some(RolloverStage::Announced)));
        let announced = rollover(RolloverStage::Announced);
        let seen =
            |has_key, has_other| Some(ParentState { has_key, has_other, ttl: 86_400, since: 2_000_000 });
        for (parent, now, expected) in [
            (None, 9_000_000, None),
            (seen(true, false), 9_000_000, None),
            (seen(true, true), 9_000_000, None),
            (seen(false, false), 9_000_000, None),
            (seen(false, true), 2_086_399, None),
            (seen(false, true), 2_086_400, Some(Some(RolloverStage::Retiring))),
            // A clock that was set back.
            (seen(false, true), 5, None),
        ] {
            assert_eq!(next(&announced, parent, now), expected, "{parent:?} at {now}");
        }
        let retiring = rollover(RolloverStage::Retiring);
        assert_eq!(next(&retiring, seen(true, false), 1_000_000 + RETIRING - 1), None);
        assert_eq!(next(&retiring, None, 1_000_000 + RETIRING), Some(None));
    }

    #[test]
    fn what_zones_above_have_is_known_since_it_changed() {
        let (parents, apex) = (ParentRecords::default(), Name::parse("example.com", None).unwrap());
        assert_eq!(parents.of(&apex), None);
        parents.found(&apex, vec![vec![2], vec![1]], 60, 10);
        parents.found(&apex, vec![vec![1], vec![2]], 50, 20);
        let known = parents.of(&apex).unwrap();
        assert_eq!((known.since, known.ttl), (10, 50));
        parents.found(&apex, Vec::new(), 0, 30);
        assert_eq!(parents.of(&apex).unwrap().since, 30);
        parents.retain(|_| false);
        assert_eq!(parents.of(&apex), None);
    }
}
