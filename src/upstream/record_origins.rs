//! Origins that proxied records name. They are made when they are first asked, and outlive snapshots, so that their health
//! and their connections are kept.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;

use super::origin::{Origin, OriginKey};

/// Most origins that are remembered. Past it those that nobody asks now are forgotten.
const MAX_ORIGINS: usize = 65_536;

#[derive(Debug, Default)]
pub struct RecordOrigins {
    known: RwLock<HashMap<OriginKey, Arc<Origin>>>,
    turns: AtomicUsize,
}

impl RecordOrigins {
    /// The origin of a key.
    ///
    /// # Errors
    /// One sentence if it cannot be made: its URL or its certificates are malformed.
    pub fn get(&self, key: OriginKey) -> Result<Arc<Origin>, String> {
        if let Some(known) = self.known.read().get(&key) {
            return Ok(Arc::clone(known));
        }
        let origin = Origin::new(key.clone())?;
        let mut known = self.known.write();
        if known.len() >= MAX_ORIGINS {
            known.retain(|_, origin| origin.in_flight() > 0);
        }
        Ok(Arc::clone(known.entry(key).or_insert(origin)))
    }

    /// Whose turn it is among those of a host.
    pub fn turn(&self) -> usize {
        self.turns.fetch_add(1, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_kept_and_those_that_nobody_asks_make_room() {
        let origins = RecordOrigins::default();
        let key = |nth: usize| OriginKey {
            zone: "z".to_owned(),
            url: format!("http://192.0.2.1:{}", nth % 65_535 + 1),
            http2: nth > 65_535,
            ca: None,
        };
        let first = origins.get(key(0)).unwrap();
        assert!(Arc::ptr_eq(&first, &origins.get(key(0)).unwrap()));
        let _busy = first.begin();
        for nth in 1..=MAX_ORIGINS + 2 {
            origins.get(key(nth)).unwrap();
        }
        assert!(origins.known.read().len() < 10);
        assert!(Arc::ptr_eq(&first, &origins.get(key(0)).unwrap()), "one that is asked is kept");
    }
}
