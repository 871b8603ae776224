//! How many connections there may be, in all and from one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::events::Events;
use crate::events::kinds::ConnectionEnd;

/// The connections of all listeners; clones share the count.
#[derive(Clone, Debug)]
pub struct Connections(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    open: AtomicUsize,
    by_address: Mutex<HashMap<IpAddr, usize>>,
    events: Events,
}

/// One admitted connection; it is counted until this is dropped.
#[derive(Debug)]
pub struct Admitted {
    connections: Connections,
    address: IpAddr,
}

impl Connections {
    pub fn new(events: Events) -> Self {
        Self(Arc::new(Shared { open: AtomicUsize::new(0), by_address: Mutex::new(HashMap::new()), events }))
    }

    pub fn open(&self) -> usize {
        self.0.open.load(Ordering::Relaxed)
    }

    /// Admits a connection.
    ///
    /// # Errors
    /// Which of the two caps it would pass.
    pub fn admit(
        &self,
        address: IpAddr,
        max: usize,
        max_of_address: usize,
    ) -> Result<Admitted, ConnectionEnd> {
        if self.0.open.fetch_add(1, Ordering::Relaxed) >= max {
            self.0.open.fetch_sub(1, Ordering::Relaxed);
            return Err(ConnectionEnd::TooManyConnections);
        }
        let mut by_address = self.0.by_address.lock();
        let count = by_address.entry(address).or_insert(0);
        if *count >= max_of_address {
            drop(by_address);
            self.0.open.fetch_sub(1, Ordering::Relaxed);
            return Err(ConnectionEnd::TooManyFromAddress);
        }
        *count += 1;
        drop(by_address);
        self.0.events.metrics().connections.inc();
        Ok(Admitted { connections: self.clone(), address })
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let shared = &self.connections.0;
        shared.open.fetch_sub(1, Ordering::Relaxed);
        shared.events.metrics().connections.dec();
        let mut by_address = shared.by_address.lock();
        if let Some(count) = by_address.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                by_address.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_caps_hold_and_are_given_back() {
        let connections = Connections::new(Events::silent());
        let (a, b) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let first = connections.admit(a, 2, 1).unwrap();
        assert_eq!(connections.admit(a, 2, 1).unwrap_err(), ConnectionEnd::TooManyFromAddress);
        let second = connections.admit(b, 2, 1).unwrap();
        assert_eq!(connections.admit(b, 2, 9).unwrap_err(), ConnectionEnd::TooManyConnections);
        drop((first, second));
        assert_eq!(connections.open(), 0);
        assert!(connections.admit(a, 2, 1).is_ok());
    }
}
