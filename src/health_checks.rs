//! Active checks of the origins that ask for them, on a schedule of each zone's own.

use std::collections::HashMap;
use std::time::Duration;

use crate::clock::Clock;
use crate::events::Events;
use crate::events::kinds::OriginChanged;
use crate::snapshot::SnapshotHandle;
use crate::upstream::health;

/// How often the schedule is looked at.
const TICK: Duration = Duration::from_millis(100);

/// Checks origins for ever.
pub async fn run(handle: SnapshotHandle, events: Events, clock: Clock) {
    let mut tick = tokio::time::interval(TICK);
    let mut due = HashMap::new();
    loop {
        tick.tick().await;
        check_origins(&handle, &events, clock, &mut due).await;
    }
}

/// Checks the origins of a snapshot that ask for it, once.
async fn check_origins(
    handle: &SnapshotHandle,
    events: &Events,
    clock: Clock,
    due: &mut HashMap<String, Duration>,
) {
    let snapshot = handle.load();
    let now = clock.unix();
    for zone in snapshot.zones() {
        let Some(check) = &zone.pool.health_check else { continue };
        let next = due.entry(zone.name.clone()).or_default();
        if *next > now {
            continue;
        }
        *next = now + check.interval;
        for origin in &zone.pool.origins {
            let up = health::check(origin, &check.path, &snapshot.upstream, now).await;
            if origin.checked(up) {
                events.emit(&OriginChanged {
                    zone: &zone.name,
                    origin: &origin.key.url,
                    up,
                    reason: "health check",
                });
            }
        }
    }
}
