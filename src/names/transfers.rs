//! What is known of transfers of zones while the process runs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use dns::Name;
use parking_lot::Mutex;

/// How much of a zone is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReceiveWish {
    /// What is newer.
    Newer,
    /// All of it.
    Whole,
}

/// Times of transfers and what operators ask for. Clones share it.
#[derive(Clone, Default)]
pub struct Transfers(Arc<Mutex<KnownTransfers>>);

#[derive(Default)]
struct KnownTransfers {
    /// When each zone was last handed over, by its name (RFC 3339).
    handed_over: HashMap<Name, String>,
    /// Zones whose peers are to be told, whether they changed or not.
    to_notify: BTreeSet<Name>,
    /// Zones whose primaries are to be asked: for their serial, or at once for all.
    to_receive: BTreeMap<Name, ReceiveWish>,
    /// When primaries of zones last answered (RFC 3339).
    checked: HashMap<Name, String>,
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

    /// Has the primaries of a zone asked.
    pub fn ask_to_receive(&self, zone: Name, wish: ReceiveWish) {
        let mut known = self.0.lock();
        let wanted = known.to_receive.entry(zone).or_insert(wish);
        *wanted = wish.max(*wanted);
    }

    /// The zones whose primaries are to be asked, once.
    pub(super) fn take_wishes(&self) -> BTreeMap<Name, ReceiveWish> {
        std::mem::take(&mut self.0.lock().to_receive)
    }

    /// A primary of a zone has answered.
    pub(super) fn checked(&self, zone: Name, at: String) {
        self.0.lock().checked.insert(zone, at);
    }

    /// When a primary of a zone last answered (RFC 3339).
    pub fn last_checked(&self, zone: &Name) -> Option<String> {
        self.0.lock().checked.get(zone).cloned()
    }
}
