//! Block lists in the DNS (RFC 5782) that rules ask whether they name the client.
//!
//! What a list says is remembered, and a client that is new is waited for a moment. If a list does not answer in time,
//! the request goes on as if it named nobody; its answer is there for the next request.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::proto::rr::{RData, RecordType};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

use crate::clock::Clock;
use crate::events::Events;
use crate::names::KeptResolver;
use model::origin_url::is_private;

/// How long a request waits for all lists together.
const PATIENCE: Duration = Duration::from_millis(500);
/// Most look-ups under way.
const MAX_UNDER_WAY: usize = 256;
/// Most answers that are remembered.
const MAX_REMEMBERED: usize = 65_536;
/// How long an answer is remembered, in seconds: as long as its TTL says within these, one that names nobody, and a failure.
const LISTED_SECONDS: (u64, u64) = (60, 3_600);
const CLEAN_SECONDS: u64 = 300;
const FAILED_SECONDS: u64 = 30;

/// What is known of a client on a list.
#[derive(Clone, Copy, Debug)]
enum Listing {
    Asked,
    /// `until` is in seconds since the epoch.
    Known {
        is_listed: bool,
        until: u64,
    },
}

/// A list and a client.
type ListingKey = (Arc<str>, IpAddr);

/// The step that asks block lists.
pub(super) struct BlockLists {
    known: Mutex<HashMap<ListingKey, watch::Receiver<Listing>>>,
    resolver: Mutex<KeptResolver>,
    places: Arc<Semaphore>,
    events: Events,
    clock: Clock,
}

impl BlockLists {
    pub(super) fn new(events: Events, clock: Clock) -> Self {
        let (known, resolver) = (Mutex::default(), Mutex::default());
        Self { known, resolver, places: Arc::new(Semaphore::new(MAX_UNDER_WAY)), events, clock }
    }

    /// Those of some lists that name a client. `resolvers` are asked, or those of the system.
    pub(super) async fn naming(
        &self,
        client: IpAddr,
        lists: &[Arc<str>],
        resolvers: &[SocketAddr],
    ) -> Vec<Arc<str>> {
        // Lists know public addresses, and nobody else is told of others.
        if is_private(client) {
            return Vec::new();
        }
        let client = client.to_canonical();
        let mut listings: Vec<_> =
            lists.iter().filter_map(|list| Some((list, self.listing(list, client, resolvers)?))).collect();
        let all_known = async {
            for (_, listing) in &mut listings {
                // One that nobody will know is not waited for.
                let _ = listing.wait_for(|known| matches!(known, Listing::Known { .. })).await;
            }
        };
        // Those that answered in time are known, whatever came of the others.
        let _ = timeout(PATIENCE, all_known).await;
        let names = |listing: &watch::Receiver<Listing>| {
            matches!(*listing.borrow(), Listing::Known { is_listed: true, .. })
        };
        listings.into_iter().filter(|(_, listing)| names(listing)).map(|(list, _)| Arc::clone(list)).collect()
    }

    /// What a list says, or will say; `None` if it cannot be asked now.
    fn listing(
        &self,
        list: &Arc<str>,
        client: IpAddr,
        resolvers: &[SocketAddr],
    ) -> Option<watch::Receiver<Listing>> {
        let now = self.clock.unix().as_secs();
        let is_of_use = |listing: &watch::Receiver<Listing>| match *listing.borrow() {
            Listing::Known { until, .. } => now < until,
            Listing::Asked => listing.has_changed().is_ok(),
        };
        let key = (Arc::clone(list), network(client));
        let mut known = self.known.lock();
        if let Some(listing) = known.get(&key).filter(|listing| is_of_use(listing)) {
            return Some(listing.clone());
        }
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            count(&self.events, "busy");
            return None;
        };
        let resolver = self.resolver.lock().of(resolvers)?;
        if known.len() >= MAX_REMEMBERED {
            known.retain(|_, listing| is_of_use(listing));
        }
        if known.len() >= MAX_REMEMBERED {
            known.clear();
        }
        let (sender, receiver) = watch::channel(Listing::Asked);
        known.insert(key, receiver.clone());
        let name = query_name(client, list);
        tokio::spawn(look_up(resolver, name, sender, (self.events.clone(), self.clock), place));
        Some(receiver)
    }
}

/// Counts what came of a look-up.
fn count(events: &Events, outcome: &str) {
    events.metrics().block_list_lookups.with_label_values(&[outcome]).inc();
}

async fn look_up(
    resolver: TokioResolver,
    name: String,
    sender: watch::Sender<Listing>,
    (events, clock): (Events, Clock),
    _place: OwnedSemaphorePermit,
) {
    let (outcome, is_listed, seconds) = match resolver.lookup(name, RecordType::A).await {
        Ok(found) => {
            let listed = found.answers().iter().filter(|record| match &record.data {
                RData::A(address) => names_client(address.0.octets()),
                _ => false,
            });
            match listed.map(|record| u64::from(record.ttl)).min() {
                Some(ttl) => ("listed", true, ttl.clamp(LISTED_SECONDS.0, LISTED_SECONDS.1)),
                None if found.answers().is_empty() => ("clean", false, CLEAN_SECONDS),
                None => ("failed", false, FAILED_SECONDS),
            }
        }
        Err(error) if error.is_no_records_found() || error.is_nx_domain() => ("clean", false, CLEAN_SECONDS),
        Err(_) => ("failed", false, FAILED_SECONDS),
    };
    count(&events, outcome);
    let until = clock.unix().as_secs() + seconds;
    // Nobody may wait any more.
    let _ = sender.send(Listing::Known { is_listed, until });
}

/// Whether the address in an answer says that the client is on the list. Answers beyond 127.0.0.0/8 come from resolvers
/// that answer for names that are not there; 127.255.255.0/24 says that the list does not answer who asks.
fn names_client(answer: [u8; 4]) -> bool {
    answer[0] == 127 && answer[1..3] != [255, 255]
}

/// The network whose clients share an answer: of IPv6 the 64 bits that one site has, so that it cannot fill what is
/// remembered.
fn network(client: IpAddr) -> IpAddr {
    match client {
        IpAddr::V4(_) => client,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

/// The name to ask for (RFC 5782 sections 2.1 and 2.4).
fn query_name(client: IpAddr, list: &str) -> String {
    let mut name = String::new();
    match client {
        IpAddr::V4(address) => {
            for octet in address.octets().iter().rev() {
                let _ = write!(name, "{octet}.");
            }
        }
        IpAddr::V6(address) => {
            for octet in address.octets().iter().rev() {
                let _ = write!(name, "{:x}.{:x}.", octet & 15, octet >> 4);
            }
        }
    }
    name + list + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_asked_for_backwards() {
        let name = |client: &str| query_name(client.parse().unwrap(), "list.example.com");
        assert_eq!(name("198.51.100.7"), "7.100.51.198.list.example.com.");
        assert_eq!(
            name("2001:db8:1:2:3:4:567:89ab"),
            "b.a.9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.8.b.d.0.1.0.0.2.list.example.com."
        );
        assert!(name("2001:db8::1").len() < 255);
    }

    #[test]
    fn only_answers_of_lists_name_a_client() {
        for (answer, expected) in [
            ([127, 0, 0, 2], true),
            ([127, 1, 2, 3], true),
            ([127, 255, 255, 254], false),
            ([198, 51, 100, 1], false),
            ([0, 0, 0, 0], false),
        ] {
            assert_eq!(names_client(answer), expected, "{answer:?}");
        }
    }

    #[test]
    fn sites_share_an_answer() {
        let network = |client: &str| network(client.parse().unwrap()).to_string();
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(network("198.51.100.7"), "198.51.100.7");
    }
}
