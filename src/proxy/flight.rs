//! Identical questions at the same time: one is asked, the others wait for its answer.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::sync::watch;

use gateway::cache::Key;

/// The questions under way.
#[derive(Debug, Default)]
pub(super) struct Flights {
    under_way: Mutex<HashMap<Key, watch::Receiver<()>>>,
}

/// Who asks, until it is dropped.
pub(super) struct Leader<'f> {
    flights: &'f Flights,
    key: Key,
    /// Those who wait learn of its end by its being gone.
    _done: watch::Sender<()>,
}

pub(super) enum Turn<'f> {
    Lead(Leader<'f>),
    /// Somebody asks already: wait until this ends, then look again.
    Wait(watch::Receiver<()>),
}

impl Flights {
    pub(super) fn turn(&self, key: Key) -> Turn<'_> {
        let mut under_way = self.under_way.lock();
        if let Some(other) = under_way.get(&key) {
            return Turn::Wait(other.clone());
        }
        let (done, waiting) = watch::channel(());
        under_way.insert(key, waiting);
        Turn::Lead(Leader { flights: self, key, _done: done })
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        self.flights.under_way.lock().remove(&self.key);
    }
}
