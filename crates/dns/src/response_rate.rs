//! Limits answers over UDP by network, so that forged source addresses cannot be used to flood others.

use std::hash::BuildHasher;
use std::net::IpAddr;

use foldhash::fast::RandomState;

/// How many networks are counted apart; a power of two. Two that share a counter share its limit.
const COUNTERS: usize = 1 << 16;

/// What becomes of a response past the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverRate {
    /// It is truncated, so that who is there asks again over TCP.
    Truncate,
    Drop,
}

/// Counts responses by the network of the client, for one thread.
#[derive(Debug)]
pub struct ResponseRate {
    /// Responses that a network gets in a second.
    most: u32,
    /// The second, and the responses in it.
    counters: Vec<(u32, u32)>,
    hasher: RandomState,
}

impl ResponseRate {
    /// With a limit for each network of 24 bits (IPv4) or 56 (IPv6); 0 is none.
    pub fn new(most: u32) -> Self {
        let counters = if most == 0 { 0 } else { COUNTERS };
        Self { most, counters: vec![(0, 0); counters], hasher: RandomState::default() }
    }

    /// Counts a response at a second; `None` while the network is within its limit.
    pub fn count(&mut self, client: IpAddr, now: u32) -> Option<OverRate> {
        if self.most == 0 {
            return None;
        }
        let network = match client {
            IpAddr::V4(client) => u64::from(u32::from(client) >> 8),
            IpAddr::V6(client) => (u128::from(client) >> 72) as u64 | 1 << 63,
        };
        let nth = self.hasher.hash_one(network) as usize & (COUNTERS - 1);
        let counter = self.counters.get_mut(nth)?;
        if counter.0 != now {
            *counter = (now, 0);
        }
        counter.1 = counter.1.saturating_add(1);
        match counter.1 {
            count if count <= self.most => None,
            count if count % 2 == 0 => Some(OverRate::Truncate),
            _ => Some(OverRate::Drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_limited_by_the_second() {
        let mut rate = ResponseRate::new(10);
        let client: IpAddr = "192.0.2.1".parse().unwrap();
        let neighbour: IpAddr = "192.0.2.200".parse().unwrap();
        let passed =
            (0..30).filter(|nth| rate.count(if nth % 2 == 0 { client } else { neighbour }, 5).is_none());
        assert_eq!(passed.count(), 10);
        assert_eq!(rate.count(client, 6), None);
        assert_eq!(rate.count("2001:db8::1".parse().unwrap(), 5), None);
        let mut over: Vec<_> = (0..20).filter_map(|_| rate.count(client, 6)).collect();
        over.dedup();
        assert!(over.len() > 5 && over.contains(&OverRate::Truncate) && over.contains(&OverRate::Drop));
        assert!((0..100).all(|_| ResponseRate::new(0).count(client, 5).is_none()));
    }
}
