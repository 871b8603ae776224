//! Zones received from other name servers, as a client: their serial, all of them (AXFR), or what changed (IXFR).

use crate::message_record::{HEADER_BYTES, MessageRecord, after_name};
use crate::name::Name;
use crate::query::{AXFR, IXFR};
use crate::rdata::Rdata;
use crate::received_record::{name_at, offset, rdata_of, soa_of};
use crate::record_type::RecordType;
use crate::tsig::{TSIG, TsigKey, TsigSigner, TsigVerifier};
use crate::zone::{SOA, Soa};

/// Most records of a zone that is received.
const MAX_RECORDS: usize = 5_000_000;

/// What is asked of a primary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZoneRequest {
    Serial,
    Whole,
    /// The changes since this start of authority.
    Since(Box<Soa>),
}

/// A record as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedRecord {
    pub name: Name,
    /// Seconds.
    pub ttl: u32,
    pub rdata: Rdata,
}

/// What a primary answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceivedZone {
    /// The start of authority alone: the zone is not newer, or nothing else was asked for.
    Serial(Soa),
    Whole(Soa, Vec<ReceivedRecord>),
    Changes(Soa, Vec<ZoneChange>),
}

/// A record that came or went, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZoneChange {
    Removed(ReceivedRecord),
    Added(ReceivedRecord),
}

/// An exchange with a primary: a request, then the messages that answer it.
pub struct ZoneExchange<'k> {
    apex: Name,
    request: ZoneRequest,
    id: [u8; 2],
    verifier: Option<TsigVerifier<'k>>,
    first: Option<Soa>,
    stage: Stage,
    records: Vec<ReceivedRecord>,
    changes: Vec<ZoneChange>,
    /// Whether changes came, be it none.
    is_incremental: bool,
    /// Records of types that are not served here.
    skipped: usize,
}

/// Which records are expected next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The start of authority.
    First,
    /// The second record: its type says whether the whole zone follows, or changes.
    Second,
    Whole,
    Removed,
    Added,
    Ended,
}

impl<'k> ZoneExchange<'k> {
    /// Begins an exchange; the message that asks is signed if there is a key. `None` if it does not fit.
    pub fn begin(
        apex: Name,
        request: ZoneRequest,
        key: Option<&'k TsigKey>,
        id: [u8; 2],
        now: u32,
    ) -> Option<(Vec<u8>, Self)> {
        let query_type = match &request {
            ZoneRequest::Serial => SOA,
            ZoneRequest::Whole => AXFR,
            ZoneRequest::Since(_) => IXFR,
        };
        let [id0, id1] = id;
        let known = u8::from(matches!(request, ZoneRequest::Since(_)));
        let mut message = vec![id0, id1, 0, 0, 0, 1, 0, 0, 0, known, 0, 0];
        message.extend_from_slice(apex.wire());
        message.extend_from_slice(&query_type.to_be_bytes());
        message.extend_from_slice(&[0, 1]);
        if let ZoneRequest::Since(soa) = &request {
            let rdata = soa.rdata();
            message.extend_from_slice(&[0xC0, 0x0C]);
            message.extend_from_slice(&SOA.to_be_bytes());
            message.extend_from_slice(&[0, 1, 0, 0, 0, 0]);
            message.extend_from_slice(&u16::try_from(rdata.len()).ok()?.to_be_bytes());
            message.extend_from_slice(&rdata);
        }
        let mut verifier = None;
        if let Some(key) = key {
            let bytes = message.len();
            message.resize(bytes + key.record_bytes(), 0);
            let mut signer = TsigSigner::new(key, &[]);
            let signed = signer.sign(&mut message, bytes, now.into(), None)?;
            message.truncate(signed);
            verifier = Some(TsigVerifier::new(key, signer.mac()));
        }
        let exchange = Self {
            apex,
            request,
            id,
            verifier,
            first: None,
            stage: Stage::First,
            records: Vec::new(),
            changes: Vec::new(),
            is_incremental: false,
            skipped: 0,
        };
        Some((message, exchange))
    }

    /// Takes the next message; whether it was the last.
    ///
    /// # Errors
    /// One sentence if the message is malformed, an error, not signed as it must be, or out of order.
    pub fn take(&mut self, message: &[u8], now: u32) -> Result<bool, String> {
        let malformed = || "the message is malformed".to_owned();
        let (header, behind) = message.split_first_chunk::<HEADER_BYTES>().ok_or_else(malformed)?;
        let [id0, id1, flags0, flags1, counts @ ..] = *header;
        if [id0, id1] != self.id || flags0 & 0x80 == 0 || flags0 & 2 != 0 {
            return Err("the message does not answer what was asked, or is truncated".to_owned());
        }
        if flags1 & 15 != 0 {
            return Err(format!("the primary refuses, with the code {}", flags1 & 15));
        }
        let [q0, q1, an0, an1, ns0, ns1, ar0, ar1] = counts;
        let [questions, answers, authorities, additional] = [[q0, q1], [an0, an1], [ns0, ns1], [ar0, ar1]]
            .map(|count| usize::from(u16::from_be_bytes(count)));
        let mut rest = behind;
        for _ in 0..questions {
            rest = after_name(rest).and_then(|rest| rest.get(4..)).ok_or_else(malformed)?;
        }
        let (start, mut signature) = (rest, None);
        for _ in 0..answers + authorities + additional {
            let record = MessageRecord::read(rest).ok_or_else(malformed)?;
            signature = (record.record_type() == TSIG).then_some(rest);
            rest = record.behind;
        }
        if !rest.is_empty() {
            return Err(malformed());
        }
        // Before anything of it is believed.
        if let Some(verifier) = &mut self.verifier {
            verifier.verify(message, signature, now.into())?;
        }
        let mut rest = start;
        for _ in 0..answers {
            let record = MessageRecord::read(rest).ok_or_else(malformed)?;
            self.take_record(message, rest, &record)?;
            rest = record.behind;
        }
        if self.stage == Stage::Second && self.is_single() {
            self.stage = Stage::Ended;
        }
        if self.stage == Stage::Ended && self.verifier.as_ref().is_some_and(TsigVerifier::is_open) {
            return Err("the last message is not signed".to_owned());
        }
        Ok(self.stage == Stage::Ended)
    }

    /// Whether one start of authority is a whole answer: nothing else was asked for, or the zone is not newer.
    fn is_single(&self) -> bool {
        match (&self.request, &self.first) {
            (ZoneRequest::Serial, _) => true,
            (ZoneRequest::Since(known), Some(first)) => !is_newer(first.serial, known.serial),
            _ => false,
        }
    }

    fn take_record(&mut self, message: &[u8], wire: &[u8], record: &MessageRecord<'_>) -> Result<(), String> {
        let malformed = || "a record is malformed".to_owned();
        if self.stage == Stage::Ended {
            return Err("records follow the end of the zone".to_owned());
        }
        let (name, _) = name_at(message, offset(message, wire)).ok_or_else(malformed)?;
        if record.record_type() == SOA {
            if name != self.apex {
                return Err(format!("the start of authority is of `{name}`, not of `{}`", self.apex));
            }
            let soa = soa_of(message, record).ok_or_else(malformed)?;
            return self.take_soa(soa);
        }
        let stage = match self.stage {
            Stage::First => return Err("the answer does not begin with the start of authority".to_owned()),
            Stage::Second => Stage::Whole,
            stage => stage,
        };
        self.stage = stage;
        let known = RecordType::of_number(record.record_type()).filter(|_| name.is_within(&self.apex));
        let rdata = known.and_then(|known| Rdata::of_wire(known, &rdata_of(message, record, known)?));
        let Some(rdata) = rdata else {
            self.skipped += 1;
            return Ok(());
        };
        if self.records.len() + self.changes.len() >= MAX_RECORDS {
            return Err(format!("the zone has more than {MAX_RECORDS} records"));
        }
        let received = ReceivedRecord { name, ttl: u32::from_be_bytes(record.ttl), rdata };
        match stage {
            Stage::Removed => self.changes.push(ZoneChange::Removed(received)),
            Stage::Added => self.changes.push(ZoneChange::Added(received)),
            _ => self.records.push(received),
        }
        Ok(())
    }

    fn take_soa(&mut self, soa: Soa) -> Result<(), String> {
        let is_last = self.first.as_ref().is_some_and(|first| first.serial == soa.serial);
        self.stage = match self.stage {
            Stage::First => {
                self.first = Some(soa);
                Stage::Second
            }
            // A zone without records but this one, or the first serial of changes.
            Stage::Second if is_last => Stage::Ended,
            Stage::Second => match &self.request {
                ZoneRequest::Since(known) if known.serial == soa.serial => {
                    self.is_incremental = true;
                    Stage::Removed
                }
                _ => return Err("the changes do not begin at the serial that is known here".to_owned()),
            },
            Stage::Whole if is_last => Stage::Ended,
            Stage::Whole => return Err("the zone changed while it was sent".to_owned()),
            Stage::Removed => Stage::Added,
            Stage::Added if is_last => Stage::Ended,
            Stage::Added => Stage::Removed,
            Stage::Ended => Stage::Ended,
        };
        Ok(())
    }

    /// What came, and how many records of types that are not served here. `None` if nothing came.
    pub fn end(self) -> Option<(ReceivedZone, usize)> {
        let soa = self.first?;
        let is_serial = self.request == ZoneRequest::Serial;
        let received = match self.request {
            _ if is_serial => ReceivedZone::Serial(soa),
            ZoneRequest::Since(known) if !is_newer(soa.serial, known.serial) => ReceivedZone::Serial(soa),
            _ if self.is_incremental => ReceivedZone::Changes(soa, self.changes),
            _ => ReceivedZone::Whole(soa, self.records),
        };
        Some((received, self.skipped))
    }
}

/// Whether a serial is behind another (RFC 1982).
pub fn is_newer(serial: u32, than: u32) -> bool {
    (serial.wrapping_sub(than) as i32) > 0
}

#[cfg(test)]
mod tests;
