//! The origins of one zone or provider, and the choice among them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::origin::Origin;
use model::{Balance, HealthCheck, OriginProtocol, OriginProxyProtocol};

#[derive(Debug)]
pub struct Pool {
    pub origins: Vec<Arc<Origin>>,
    pub balance: Balance,
    pub health_check: Option<HealthCheck>,
    pub proxy_protocol: OriginProxyProtocol,
    next: AtomicUsize,
}

impl Pool {
    pub fn new(origins: Vec<Arc<Origin>>, balance: Balance, health_check: Option<HealthCheck>) -> Self {
        let proxy_protocol = OriginProxyProtocol::Off;
        Self { origins, balance, health_check, proxy_protocol, next: AtomicUsize::new(0) }
    }

    /// The same pool, whose origins are told the client by the PROXY protocol.
    pub fn with_proxy_protocol(self, proxy_protocol: OriginProxyProtocol) -> Self {
        Self { proxy_protocol, ..self }
    }

    /// Whether one of them is spoken to over HTTP/2.
    pub fn speaks_http2(&self) -> bool {
        self.origins.iter().any(|origin| origin.protocol == OriginProtocol::Http2)
    }

    /// Whether one of them takes requests now.
    pub fn is_up(&self, now: Duration) -> bool {
        self.origins.iter().any(|origin| origin.is_up(now))
    }

    /// The origin for a request, among those not in `tried`; `client` is what it is for always the same, if the pool goes
    /// by that. If all are down one is tried all the same: a wrong guess costs less than a refusal.
    pub fn choose(&self, tried: &[Arc<Origin>], now: Duration, client: Option<&[u8]>) -> Option<Arc<Origin>> {
        let untried = |origin: &&Arc<Origin>| !tried.iter().any(|t| Arc::ptr_eq(t, origin));
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let turn = start.checked_rem(self.origins.len())?;
        let (before, from) = self.origins.split_at(turn);
        let in_turn = || from.iter().chain(before).filter(untried);
        let up = || in_turn().filter(|origin| origin.is_up(now));
        let chosen = match (self.balance, client) {
            (Balance::LeastConnections, _) => up().min_by_key(|origin| origin.in_flight()),
            (Balance::ClientAddress | Balance::Cookie, Some(client)) => {
                up().max_by_key(|origin| rank(client, &origin.key.url))
            }
            (Balance::RoundRobin | Balance::ClientAddress | Balance::Cookie, _) => up().next(),
        };
        chosen.or_else(|| in_turn().next()).cloned()
    }
}

/// How much a client is for an origin (rendezvous hashing): if one goes, only its clients go elsewhere, and all nodes agree.
fn rank(client: &[u8], url: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (client, url).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::super::OriginKey;
    use super::super::origin::{MAX_FAILURES, REST};
    use super::*;

    fn pool(balance: Balance) -> Pool {
        let origin = |port: u16| {
            let url = format!("http://127.0.0.1:{port}");
            Origin::new(OriginKey { zone: "z".into(), url, http2: false, ca: None }).unwrap()
        };
        Pool::new(vec![origin(1), origin(2), origin(3)], balance, None)
    }

    const NOW: Duration = Duration::from_secs(1000);

    fn ports(pool: &Pool, count: usize) -> Vec<u16> {
        (0..count).map(|_| pool.choose(&[], NOW, None).unwrap().url.port).collect()
    }

    #[test]
    fn round_robin_skips_what_rests_and_returns() {
        let pool = pool(Balance::RoundRobin);
        assert_eq!(ports(&pool, 4), [1, 2, 3, 1]);
        for _ in 0..MAX_FAILURES {
            pool.origins[1].failed(NOW);
        }
        assert!(!ports(&pool, 6).contains(&2));
        assert!(pool.origins[1].is_up(NOW + REST));
        assert!(pool.origins[1].answered());
        assert!(ports(&pool, 3).contains(&2));
    }

    #[test]
    fn least_connections_counts_what_is_in_flight() {
        let pool = pool(Balance::LeastConnections);
        let held = [pool.origins[0].begin(), pool.origins[2].begin()];
        assert_eq!(ports(&pool, 3), [2, 2, 2]);
        drop(held);
        assert_eq!(pool.origins[0].in_flight(), 0);
    }

    #[test]
    fn a_retry_goes_elsewhere_and_the_last_resort_is_one_that_is_down() {
        let pool = pool(Balance::RoundRobin);
        let first = pool.choose(&[], NOW, None).unwrap();
        assert!(!Arc::ptr_eq(&first, &pool.choose(std::slice::from_ref(&first), NOW, None).unwrap()));
        assert!(pool.choose(&pool.origins, NOW, None).is_none());
        pool.origins.iter().for_each(|origin| {
            origin.checked(false, NonZeroU32::MIN);
        });
        assert!(pool.choose(&[], NOW, None).is_some());
    }

    #[test]
    fn a_client_stays_with_its_origin_and_only_clients_of_one_that_goes_move() {
        for balance in [Balance::ClientAddress, Balance::Cookie] {
            let pool = pool(balance);
            let port = |client: u32| pool.choose(&[], NOW, Some(&client.to_be_bytes())).unwrap().url.port;
            let before: Vec<u16> = (0..300).map(port).collect();
            assert_eq!((0..300).map(port).collect::<Vec<_>>(), before);
            for origin in 1..=3 {
                let share = before.iter().filter(|port| **port == origin).count();
                assert!((60..140).contains(&share), "{share}");
            }
            pool.origins[1].checked(false, NonZeroU32::MIN);
            let after: Vec<u16> = (0..300).map(port).collect();
            assert!(before.iter().zip(&after).all(|(before, after)| *before == 2 || before == after));
            assert!(!after.contains(&2));
        }
    }
}
