//! The last changes of a zone, for name servers that have it and ask what is new (RFC 1995).

use std::collections::VecDeque;
use std::sync::Arc;

use crate::record_set::RecordSet;

/// Most serials that the journal of a zone goes back, and most sets in it.
const MAX_DELTAS: usize = 128;
const MAX_CHANGED_SETS: usize = 20_000;

/// What changed at one name.
#[derive(Debug)]
pub(crate) struct NodeChange {
    pub(crate) key: Box<[u8]>,
    pub(crate) before: Arc<[RecordSet]>,
    pub(crate) after: Arc<[RecordSet]>,
}

impl NodeChange {
    /// Sets of one state that the other does not have as they are.
    pub(crate) fn only<'s>(
        of: &'s [RecordSet],
        other: &'s [RecordSet],
    ) -> impl Iterator<Item = &'s RecordSet> {
        of.iter().filter(move |set| !other.iter().any(|known| known.wire == set.wire))
    }
}

/// What changed from one serial to the next.
#[derive(Debug)]
pub(crate) struct ZoneDelta {
    pub(crate) before: Arc<RecordSet>,
    pub(crate) after: Arc<RecordSet>,
    pub(crate) changes: Vec<Arc<NodeChange>>,
}

/// The last changes of a zone. A copy shares them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    deltas: VecDeque<Arc<ZoneDelta>>,
    /// What changed since the last serial.
    pending: Vec<Arc<NodeChange>>,
}

impl Journal {
    pub(crate) fn push(&mut self, change: NodeChange) {
        self.pending.push(Arc::new(change));
    }

    /// Begins a serial.
    pub(crate) fn close(&mut self, before: &Arc<RecordSet>, after: &Arc<RecordSet>) {
        let changes = std::mem::take(&mut self.pending);
        self.deltas.push_back(Arc::new(ZoneDelta {
            before: Arc::clone(before),
            after: Arc::clone(after),
            changes,
        }));
        let sets = |deltas: &VecDeque<Arc<ZoneDelta>>| -> usize {
            let changes = deltas.iter().flat_map(|delta| &delta.changes);
            changes.map(|change| change.before.len() + change.after.len()).sum()
        };
        while self.deltas.len() > MAX_DELTAS || sets(&self.deltas) > MAX_CHANGED_SETS {
            self.deltas.pop_front();
        }
    }

    /// The changes since a serial; `None` if the journal does not go back so far.
    pub(crate) fn since(&self, serial: u32) -> Option<impl Iterator<Item = &ZoneDelta> + Clone> {
        let first = self.deltas.iter().position(|delta| serial_of(&delta.before) == Some(serial))?;
        Some(self.deltas.iter().skip(first).map(|delta| &**delta))
    }
}

/// The serial of a start of authority.
pub(crate) fn serial_of(soa: &RecordSet) -> Option<u32> {
    let rdata = soa.rdata().next()?;
    let serial = rdata.get(rdata.len().checked_sub(20)?..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*serial))
}
