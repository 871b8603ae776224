//! Active checks of the origins that ask for them, on a schedule of each zone's own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::clock::Clock;
use crate::events::Events;
use crate::events::kinds::OriginChanged;
use crate::snapshot::SnapshotHandle;
use crate::upstream::{Origin, health};
use model::HealthCheck;

/// How often the schedule is looked at.
const TICK: Duration = Duration::from_millis(100);

/// Checks origins for ever. Zones do not wait for each other, and a zone's next checks for those that are under way.
pub async fn run(handle: SnapshotHandle, events: Events, clock: Clock) {
    let mut tick = tokio::time::interval(TICK);
    let mut due: HashMap<String, Duration> = HashMap::new();
    let mut busy: HashSet<String> = HashSet::new();
    let mut under_way: JoinSet<String> = JoinSet::new();
    loop {
        tick.tick().await;
        while let Some(done) = under_way.try_join_next() {
            match done {
                Ok(zone) => drop(busy.remove(&zone)),
                // Whose check it was is lost with it.
                Err(_) => busy.clear(),
            }
        }
        let (snapshot, now) = (handle.load(), clock.unix());
        for zone in snapshot.zones() {
            let Some(check) = &zone.pool.health_check else { continue };
            let next = due.entry(zone.name.clone()).or_default();
            if *next > now || !busy.insert(zone.name.clone()) {
                continue;
            }
            *next = now + check.interval;
            let (snapshot, events, zone) = (Arc::clone(&snapshot), events.clone(), Arc::clone(zone));
            let check = check.clone();
            under_way.spawn(async move {
                let (mut checks, proxy_protocol) = (JoinSet::new(), zone.pool.proxy_protocol);
                for origin in &zone.pool.origins {
                    let (origin, check, snapshot) =
                        (Arc::clone(origin), check.clone(), Arc::clone(&snapshot));
                    checks.spawn(async move {
                        let asked = (&check, proxy_protocol);
                        let up = health::check(&origin, asked, &snapshot.upstream, now).await;
                        (origin, up)
                    });
                }
                while let Some(checked) = checks.join_next().await {
                    if let Ok((origin, up)) = checked {
                        note(&origin, up, &check, &zone.name, &events);
                    }
                }
                zone.name.clone()
            });
        }
    }
}

fn note(origin: &Arc<Origin>, up: bool, check: &HealthCheck, zone: &str, events: &Events) {
    let in_a_row = if up { check.healthy_after } else { check.unhealthy_after };
    if origin.checked(up, in_a_row) {
        events.emit(&OriginChanged { zone, origin: &origin.key.url, up, reason: "health check" });
    }
}
