//! Names elsewhere whose addresses names of zones have: looked up before they are needed again, off the path of answers.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use dns::Name;
use hickory_resolver::TokioResolver;
use tokio::task::JoinSet;

use super::resolver::KeptResolver;

use crate::clock::{Clock, Stopwatch};
use crate::control::Control;
use crate::snapshot::{FlattenedTarget, Snapshot};

/// How often it is looked what is due.
const TICK: Duration = Duration::from_millis(200);
/// How short and how long addresses are kept, and when a name that was not found is looked up again, in seconds.
const MIN_TTL: u32 = 30;
const MAX_TTL: u32 = 3_600;
const RETRY: u32 = 30;
/// Most look-ups at once.
const MAX_LOOK_UPS: usize = 64;

/// When a name is looked up again.
struct Due {
    since: Stopwatch,
    after: Duration,
}

/// Looks names up for as long as it is polled.
pub async fn run(control: Control, clock: Clock) {
    let mut due: HashMap<Name, Due> = HashMap::new();
    let mut resolver = KeptResolver::default();
    let (mut names, mut seen) = (BTreeSet::new(), 0);
    loop {
        tokio::time::sleep(TICK).await;
        let snapshot = control.handle().load();
        if seen != snapshot.revision {
            (names, seen) = (wanted(&snapshot), snapshot.revision);
            due.retain(|name, _| names.contains(name));
        }
        let is_due = |name: &&Name| due.get(*name).is_none_or(|due| due.since.elapsed() >= due.after);
        let asked: Vec<Name> = names.iter().filter(is_due).take(MAX_LOOK_UPS).cloned().collect();
        if asked.is_empty() {
            continue;
        }
        let Some(resolver) = resolver.of(&snapshot.dns.resolvers) else { continue };
        let mut look_ups = JoinSet::new();
        for name in asked {
            let resolver = resolver.clone();
            look_ups.spawn(async move { (look_up(&resolver, &name).await, name) });
        }
        let mut found = Vec::new();
        while let Some(outcome) = look_ups.join_next().await {
            let Ok((target, name)) = outcome else { continue };
            let ttl = target.as_ref().map_or(RETRY, |target| target.ttl);
            // Before it ends: who asks meanwhile has what is known.
            let after = Duration::from_secs(u64::from(ttl)) * 4 / 5;
            due.insert(name.clone(), Due { since: clock.start(), after });
            let known = snapshot.names.flattened.get(&name);
            if let Some(target) =
                target.filter(|target| known.is_none_or(|known| known.addresses != target.addresses))
            {
                found.push((name, target));
            }
        }
        if !found.is_empty() {
            control.found(found);
        }
    }
}

/// The names that zones lead to.
fn wanted(snapshot: &Snapshot) -> BTreeSet<Name> {
    let followers = snapshot.names.served.values().flat_map(|zone| &zone.followers);
    followers.filter_map(|follower| follower.external.clone()).collect()
}

/// The addresses of a name; `None` if nobody could say.
async fn look_up(resolver: &TokioResolver, name: &Name) -> Option<FlattenedTarget> {
    let asked = format!("{name}.");
    match resolver.lookup_ip(asked).await {
        Ok(found) => {
            let mut addresses: Vec<_> = found.iter().collect();
            addresses.sort_unstable();
            let lowest = found.as_lookup().answers().iter().map(|record| record.ttl).min();
            Some(FlattenedTarget { addresses, ttl: lowest.unwrap_or(MIN_TTL).clamp(MIN_TTL, MAX_TTL) })
        }
        Err(error) if error.is_no_records_found() || error.is_nx_domain() => {
            Some(FlattenedTarget { addresses: Vec::new(), ttl: RETRY })
        }
        Err(_) => None,
    }
}
