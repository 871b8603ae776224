//! Bodies that were scanned already.
//!
//! A body is told by a keyed hash (HMAC-SHA-256, RFC 2104, of a key made at the start) of itself, of what it
//! was scanned for, and, where something was found in it, of the path it came from: a clean body need not be
//! looked at again wherever it is served, a leaking one is told once for each path.

use std::collections::HashMap;

use hmac::{Hmac, KeyInit, Mac};
use parking_lot::Mutex;
use sha2::Sha256;

use super::Plan;

/// Bodies that are remembered; past it half of them, the older ones, are forgotten.
const MAX_BODIES: usize = 8_192;

/// The hash of a body.
pub type Digest = [u8; 16];

/// What is remembered of bodies.
pub struct Seen {
    key: [u8; 32],
    bodies: Mutex<Bodies>,
}

#[derive(Default)]
struct Bodies {
    /// By hash, when it was last asked for.
    last: HashMap<Digest, u64, foldhash::fast::RandomState>,
    asked: u64,
}

impl Seen {
    /// `None` where the system has no random bytes: then every body is scanned.
    pub fn new() -> Option<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).ok()?;
        Some(Self { key, bodies: Mutex::default() })
    }

    /// The hash of a body and what it is scanned for.
    pub fn digest(&self, plan: &Plan, body: &[u8]) -> Option<Digest> {
        let enabled: Vec<u8> = plan.enabled.iter().map(|enabled| u8::from(*enabled)).collect();
        self.mac(&[&plan.detector.number().to_le_bytes(), &enabled, body])
    }

    /// The hash of a body that came from a path.
    pub fn at_path(&self, digest: &Digest, path: &str) -> Option<Digest> {
        self.mac(&[digest, path.as_bytes()])
    }

    /// Each part behind its length, so that no two lists of parts are one text.
    fn mac(&self, parts: &[&[u8]]) -> Option<Digest> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        for part in parts {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().first_chunk().copied()
    }

    /// Whether this body was remembered.
    pub fn contains(&self, digest: &Digest) -> bool {
        let mut bodies = self.bodies.lock();
        bodies.asked += 1;
        let asked = bodies.asked;
        bodies.last.get_mut(digest).map(|last| *last = asked).is_some()
    }

    pub fn remember(&self, digest: Digest) {
        let mut bodies = self.bodies.lock();
        bodies.asked += 1;
        let asked = bodies.asked;
        bodies.last.insert(digest, asked);
        if bodies.last.len() > MAX_BODIES {
            let mut ages: Vec<u64> = bodies.last.values().copied().collect();
            let (_, middle, _) = ages.select_nth_unstable(MAX_BODIES / 2);
            let middle = *middle;
            bodies.last.retain(|_, last| *last > middle);
        }
    }
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Seen({} bodies)", self.bodies.lock().last.len())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_body_is_known_by_itself_its_plan_and_its_path() {
        let plan = |count: usize| {
            let detector = Arc::new(crate::rules::sensitive(None).0);
            Plan { enabled: vec![true; count].into(), detector }
        };
        let (one, other) = (plan(3), plan(4));
        let seen = Seen::new().unwrap();
        let digest = seen.digest(&one, b"body").unwrap();
        assert!(!seen.contains(&digest));
        seen.remember(digest);
        assert!(seen.contains(&digest));
        for different in [
            seen.digest(&one, b"Body"),
            seen.digest(&other, b"body"),
            seen.digest(&plan(3), b"body"),
            seen.at_path(&digest, "/a"),
            Seen::new().unwrap().digest(&one, b"body"),
        ] {
            assert!(!seen.contains(&different.unwrap()));
        }
    }

    #[test]
    fn what_is_remembered_is_bounded_and_the_old_go_first() {
        let seen = Seen::new().unwrap();
        let digest = |n: usize| {
            let mut digest = Digest::default();
            digest[..8].copy_from_slice(&n.to_le_bytes());
            digest
        };
        for n in 0..3 * MAX_BODIES {
            seen.remember(digest(n));
        }
        assert!(seen.bodies.lock().last.len() <= MAX_BODIES);
        assert!(seen.contains(&digest(3 * MAX_BODIES - 1)) && !seen.contains(&digest(0)));
    }
}
