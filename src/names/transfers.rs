//! What is known of transfers of zones while the process runs.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use dns::Name;
use parking_lot::Mutex;

/// Times of transfers and what operators ask for. Clones share it.
#[derive(Clone, Default)]
pub struct Transfers(Arc<Mutex<KnownTransfers>>);

#[derive(Default)]
struct KnownTransfers {
    /// When each zone was last handed over, by its name (RFC 3339).
    handed_over: HashMap<Name, String>,
    /// Zones whose peers are to be told, whether they changed or not.
    to_notify: BTreeSet<Name>,
}

impl Transfers {
    /// A zone was handed over.
    pub(super) fn handed_over(&self, zone: Name, at: String) {
        self.0.lock().handed_over.insert(zone, at);
    }

    /// When a zone was last handed over (RFC 3339).
    pub fn last_handed_over(&self, zone: &Name) -> Option<String> {
        self.0.lock().handed_over.get(zone).cloned()
    }

    /// Has the peers of a zone told.
    pub fn ask_to_notify(&self, zone: Name) {
        self.0.lock().to_notify.insert(zone);
    }

    /// The zones whose peers are to be told, once.
    pub(super) fn take_asked(&self) -> BTreeSet<Name> {
        std::mem::take(&mut self.0.lock().to_notify)
    }
}
