//! Zones handed over to other name servers: whole (AXFR, RFC 5936) or as changes (IXFR, RFC 1995).

use std::iter::Peekable;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::answer::{Catalog, Signature, TCP_BYTES, Transport};
use crate::journal::{NodeChange, ZoneDelta};
use crate::message_record::{HEADER_BYTES, MessageRecord};
use crate::query::{AXFR, IXFR, Query, Rcode};
use crate::record_set::{QUESTION_NAME, RecordSet};
use crate::tsig::TsigSigner;
use crate::zone::{DnsZone, SOA};

/// A request for a zone.
#[derive(Debug)]
pub struct Transfer {
    zone: Arc<DnsZone>,
    /// The serial that the client has, if it asks for changes.
    since: Option<u32>,
    /// Header and question of each message, without counts of records.
    head: SmallVec<[u8; 64]>,
    /// The key that signed the request, by its place, and the request's signature.
    signature: Option<(usize, SmallVec<[u8; 64]>)>,
}

impl Transfer {
    /// Reads a request; `None` if it is none, or its client may not have the zone.
    pub fn requested(catalog: &Catalog, packet: &[u8], transport: &Transport<'_>) -> Option<Self> {
        let query = Query::read(packet).ok()?;
        let is_whole = query.query_type == AXFR;
        if !(is_whole || query.query_type == IXFR) || query.class != 1 || query.is_notify {
            return None;
        }
        let zone = catalog.get(query.name()).filter(|zone| !zone.is_expired())?;
        let signature = query.tsig.map(|record| Signature::check(Some(zone), record, transport.now));
        let by = match &signature {
            None => None,
            Some(Signature::By(key)) => Some(*key),
            Some(Signature::Bad(..)) => return None,
        };
        let policy = zone.transfers().filter(|policy| policy.allows(transport.client, by.is_some()))?;
        let place = by.and_then(|by| policy.keys.iter().position(|key| std::ptr::eq(key, by)));
        // A key that the zone is received by is none to have it by.
        if by.is_some() && place.is_none() {
            return None;
        }
        let mac = query.tsig.map(|record| SmallVec::from_slice(record.mac));
        let [id0, id1] = query.id;
        let mut head = SmallVec::from_slice(&[id0, id1, 0x84, Rcode::NoError as u8, 0, 1, 0, 0, 0, 0, 0, 0]);
        head.extend_from_slice(query.question);
        let since = match is_whole {
            true => None,
            false => Some(known_serial(packet, &query)?),
        };
        Some(Self { zone: Arc::clone(zone), since, head, signature: place.zip(mac) })
    }

    /// The zone's name, without the final dot.
    pub fn zone_name(&self) -> &crate::Name {
        self.zone.apex()
    }

    /// Whether the client asks for all of it, not for changes.
    pub fn is_whole(&self) -> bool {
        self.since.is_none()
    }

    pub fn is_signed(&self) -> bool {
        self.signature.is_some()
    }

    /// The answer.
    pub fn messages(&self) -> TransferMessages<'_> {
        let keys = self.zone.transfers().map_or(&[][..], |policy| &policy.keys);
        let signer = self
            .signature
            .as_ref()
            .and_then(|(place, mac)| keys.get(*place).map(|key| TsigSigner::new(key, mac)));
        TransferMessages { head: &self.head, records: self.records().peekable(), signer }
    }

    fn records(&self) -> TransferRecords<'_> {
        let soa = || records_of(&[], self.zone.soa());
        let Some(since) = self.since else { return Box::new(soa().chain(self.all()).chain(soa())) };
        let serial = self.zone.serial();
        // A client that is up to date, or ahead, gets the one record (RFC 1995 section 2).
        if (since.wrapping_sub(serial) as i32) >= 0 {
            return Box::new(soa());
        }
        match self.zone.journal().and_then(|journal| journal.since(since)) {
            Some(deltas) => Box::new(soa().chain(deltas.flat_map(delta_records)).chain(soa())),
            // Without the changes it gets all (RFC 1995 section 4).
            None => Box::new(soa().chain(self.all()).chain(soa())),
        }
    }

    fn all(&self) -> impl Iterator<Item = OwnedRecord<'_>> + Send {
        let own = self.zone.own_sets().flat_map(|set| records_of(&[], set));
        let sets = self.zone.nodes().flat_map(|(key, node)| node.sets().iter().map(move |set| (key, set)));
        own.chain(sets.flat_map(|(key, set)| records_of(key, set)))
    }
}

fn records_of<'z>(key: &'z [u8], set: &'z RecordSet) -> impl Iterator<Item = OwnedRecord<'z>> + Send {
    set.records().map(move |record| OwnedRecord { key, record })
}

/// What went, then what came, each after its start of authority.
fn delta_records(delta: &ZoneDelta) -> impl Iterator<Item = OwnedRecord<'_>> + Send {
    let removed = delta.changes.iter().flat_map(|change| {
        NodeChange::only(&change.before, &change.after).flat_map(|set| records_of(&change.key, set))
    });
    let added = delta.changes.iter().flat_map(|change| {
        NodeChange::only(&change.after, &change.before).flat_map(|set| records_of(&change.key, set))
    });
    records_of(&[], &delta.before).chain(removed).chain(records_of(&[], &delta.after)).chain(added)
}

/// The serial of the record that a client has: the only one of the second section (RFC 1995 section 3).
fn known_serial(packet: &[u8], query: &Query<'_>) -> Option<u32> {
    let record = MessageRecord::read(packet.get(HEADER_BYTES + query.question.len()..)?)?;
    let serial = record.rdata().len().checked_sub(20).and_then(|at| record.rdata().get(at..at + 4));
    (record.record_type() == SOA).then_some(u32::from_be_bytes(serial?.try_into().ok()?))
}

/// A record without its name, and that name without the apex.
#[derive(Clone, Copy, Debug)]
struct OwnedRecord<'z> {
    key: &'z [u8],
    record: &'z [u8],
}

type TransferRecords<'z> = Box<dyn Iterator<Item = OwnedRecord<'z>> + Send + 'z>;

/// The messages of an answer.
pub struct TransferMessages<'t> {
    head: &'t [u8],
    records: Peekable<TransferRecords<'t>>,
    signer: Option<TsigSigner<'t>>,
}

impl TransferMessages<'_> {
    /// Writes the next message into a buffer of [`TCP_BYTES`] and returns its length; `None` at the end.
    ///
    /// # Errors
    /// One sentence if a record does not fit into a message.
    pub fn write_next(&mut self, buffer: &mut [u8], now: u32) -> Result<Option<usize>, String> {
        if self.records.peek().is_none() {
            return Ok(None);
        }
        let too_long = || "a record does not fit into a message".to_owned();
        let reserved = self.signer.as_ref().map_or(0, TsigSigner::record_bytes);
        let most = buffer.len().min(TCP_BYTES).saturating_sub(reserved);
        let mut message = TransferMessage { buffer, bytes: 0, most };
        message.put(&[self.head]).ok_or_else(too_long)?;
        let mut count = 0_u16;
        while let Some(next) = self.records.peek() {
            // The name ends with the question's, which is the apex.
            if count == u16::MAX || message.put(&[next.key, &QUESTION_NAME, next.record]).is_none() {
                break;
            }
            count += 1;
            self.records.next();
        }
        let bytes = message.bytes;
        if count == 0 {
            return Err(too_long());
        }
        if let Some(to) = buffer.get_mut(6..8) {
            to.copy_from_slice(&count.to_be_bytes());
        }
        match &mut self.signer {
            None => Ok(Some(bytes)),
            Some(signer) => signer.sign(buffer, bytes, now.into(), None).map(Some).ok_or_else(too_long),
        }
    }
}

struct TransferMessage<'b> {
    buffer: &'b mut [u8],
    bytes: usize,
    most: usize,
}

impl TransferMessage<'_> {
    /// Puts all of it, or nothing.
    fn put(&mut self, parts: &[&[u8]]) -> Option<()> {
        let mut at = self.bytes;
        let end = at + parts.iter().map(|part| part.len()).sum::<usize>();
        if end > self.most {
            return None;
        }
        for part in parts {
            self.buffer.get_mut(at..at + part.len())?.copy_from_slice(part);
            at += part.len();
        }
        self.bytes = end;
        Some(())
    }
}
