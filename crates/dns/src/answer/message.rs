//! A message while it is written: what does not fit leaves it full.

use crate::message_record::HEADER_BYTES;
use crate::query::{Query, Rcode};
use crate::record_set::{QUESTION_NAME, RecordSet};

#[derive(Clone, Copy, Debug)]
pub(super) enum Section {
    Answer = 0,
    Authority = 1,
    Additional = 2,
}

/// A message that is being written.
pub(super) struct Message<'b> {
    pub(super) buffer: &'b mut [u8],
    pub(super) bytes: usize,
    pub(super) most: usize,
    /// Whether something did not fit.
    pub(super) is_full: bool,
    /// Records of each section.
    pub(super) counts: [u16; 3],
}

impl Message<'_> {
    pub(super) fn put(&mut self, bytes: &[u8]) {
        let end = self.bytes + bytes.len();
        match self.buffer.get_mut(self.bytes..end.min(self.most)) {
            Some(to) if to.len() == bytes.len() => {
                to.copy_from_slice(bytes);
                self.bytes = end;
            }
            _ => self.is_full = true,
        }
    }

    pub(super) fn count(&mut self, section: Section, records: u16) {
        if let Some(count) = self.counts.get_mut(section as usize) {
            *count += records;
        }
    }

    /// Puts a set, whose name is at `owner`. Sets of addresses begin with another record each time.
    pub(super) fn set(&mut self, set: &RecordSet, owner: [u8; 2], section: Section, rotation: usize) {
        let start = self.bytes;
        let is_rotated = set.count > 1 && matches!(set.record_type, 1 | 28);
        if is_rotated {
            // Addresses of one type are of one length.
            let length = set.wire.len() / usize::from(set.count);
            let at = length * (rotation % usize::from(set.count));
            let (before, behind) = set.wire.split_at_checked(at).unwrap_or((&set.wire, &[]));
            self.put(behind);
            self.put(before);
        } else {
            self.put(&set.wire);
        }
        if self.is_full {
            return;
        }
        self.count(section, set.count);
        if owner != QUESTION_NAME {
            self.name_records(start, owner);
        }
    }

    /// Points the names of the records from `start` on elsewhere.
    fn name_records(&mut self, start: usize, owner: [u8; 2]) {
        let mut at = start;
        while let Some(head) = self.buffer.get_mut(at..self.bytes).and_then(<[u8]>::first_chunk_mut::<12>) {
            [head[0], head[1]] = owner;
            at += 12 + usize::from(u16::from_be_bytes([head[10], head[11]]));
        }
    }

    pub(super) fn set_if_it_fits(&mut self, set: &RecordSet, owner: [u8; 2], section: Section) {
        if !self.is_full && self.bytes + set.wire.len() <= self.most {
            self.set(set, owner, section, 0);
        }
    }

    /// Puts a record that is written like those of sets, with its name at `owner`.
    pub(super) fn record(&mut self, wire: &[u8], owner: [u8; 2], section: Section) {
        self.put(&owner);
        self.put(wire.get(owner.len()..).unwrap_or(&[]));
        if !self.is_full {
            self.count(section, 1);
        }
    }

    /// Puts a record that is written like those of sets, whose name is a label in front of the one at `owner`.
    pub(super) fn labelled_record(&mut self, wire: &[u8], label: &[u8], owner: [u8; 2], section: Section) {
        self.put(label);
        self.record(wire, owner, section);
    }

    pub(super) fn head(
        &mut self,
        query: &Query<'_>,
        rcode: Rcode,
        is_authoritative: bool,
        is_truncated: bool,
    ) {
        let [id0, id1] = query.id;
        let flags0 = 0x80
            | if query.is_notify { 4 << 3 } else { 0 }
            | u8::from(is_authoritative) << 2
            | u8::from(is_truncated) << 1
            | u8::from(query.is_recursion_desired);
        let flags1 = u8::from(query.is_checking_disabled) << 4 | rcode as u8 & 15;
        let [an, ns, ar] = self.counts.map(u16::to_be_bytes);
        let head = [id0, id1, flags0, flags1, 0, 1, an[0], an[1], ns[0], ns[1], ar[0], ar[1]];
        if let Some(to) = self.buffer.get_mut(..HEADER_BYTES) {
            to.copy_from_slice(&head);
        }
    }
}
