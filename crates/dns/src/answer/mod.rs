//! What an authoritative server answers to a query (RFC 1034 section 4.3.2, RFC 4592, RFC 2308, RFC 8482).
//!
//! The answer is written into the caller's buffer. Only signing allocates.

mod from_zone;
mod message;

use std::net::IpAddr;
use std::sync::Arc;

use crate::cookie::Cookies;
use crate::message_record::{HEADER_BYTES, MessageRecord, after_name};
use crate::name::{Name, above};
use crate::query::{AXFR, IXFR, NoQuery, PLAIN_UDP_BYTES, Query, Rcode};
use crate::record_set::QUESTION_NAME;
use crate::record_type::RecordType;
use crate::tsig::{self, TsigError, TsigKey, TsigRecord, TsigSigner};
use crate::wire_map::WireMap;
use crate::zone::DnsZone;
use from_zone::ZoneAnswer;
use message::{Message, Section};

/// What this server takes, and sends at most, over UDP: what passes every network without fragments.
pub const UDP_BYTES: usize = 1_232;
/// Longest message over TCP.
pub const TCP_BYTES: usize = 65_535;
/// Most aliases that are followed for one name.
pub const MAX_CHAIN: usize = 8;
const ANY: u16 = 255;
const CLASS_ANY: u16 = 255;

/// Zones by their names in wire form.
pub type Catalog = WireMap<Arc<DnsZone>>;

/// What carries queries and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    Udp,
    /// UDP, for a client past its limit: without a cookie it gets truncated answers only.
    UdpPastLimit,
    Tcp,
    /// TLS or HTTPS: answers are padded if the client pads (RFC 8467).
    Encrypted,
}

/// How a query came.
#[derive(Clone, Copy, Debug)]
pub struct Transport<'c> {
    pub carrier: Carrier,
    pub cookies: &'c Cookies,
    pub client: IpAddr,
    /// Seconds since the epoch, for cookies and signatures.
    pub now: u32,
}

/// What was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered<'c> {
    /// Bytes of the answer in the buffer; 0 if there is no answer.
    pub bytes: usize,
    pub rcode: Rcode,
    /// The type that was asked for; 0 if the question was not understood.
    pub query_type: u16,
    pub is_truncated: bool,
    /// Whether the client showed a cookie of this server.
    pub has_cookie: bool,
    /// The name of the zone that the question is about.
    pub zone: Option<&'c Name>,
    /// Whether a primary of the zone says that it has changed.
    pub is_notified: bool,
}

impl Answered<'_> {
    const NOTHING: Self = Self {
        bytes: 0,
        rcode: Rcode::FormErr,
        query_type: 0,
        is_truncated: false,
        has_cookie: false,
        zone: None,
        is_notified: false,
    };
}

/// Answers a message from zones into `buffer`, which has room for a whole answer.
pub fn answer<'c>(
    catalog: &'c Catalog,
    packet: &[u8],
    transport: &Transport<'_>,
    buffer: &mut [u8],
) -> Answered<'c> {
    let query = match Query::read(packet) {
        Ok(query) => query,
        Err(NoQuery::Silence) => return Answered::NOTHING,
        Err(NoQuery::Refuse(rcode)) => return refuse(packet, rcode, buffer),
    };
    let cookie = query.edns.and_then(|edns| edns.cookie);
    let has_cookie =
        cookie.is_some_and(|cookie| transport.cookies.knows(cookie, transport.client, transport.now));
    let most = match (transport.carrier, query.edns) {
        (Carrier::Tcp | Carrier::Encrypted, _) => TCP_BYTES,
        (_, Some(edns)) => usize::from(edns.udp_bytes).clamp(PLAIN_UDP_BYTES, UDP_BYTES),
        (_, None) => PLAIN_UDP_BYTES,
    };
    let opt = Opt::of(&query, transport.carrier);
    let zone = zone_of(catalog, &query);
    let signature = query.tsig.map(|record| Signature::check(zone, record, transport.now));
    let signed_bytes = signature.as_ref().map_or(0, Signature::bytes);
    let least = HEADER_BYTES + query.question.len();
    let most = (most.min(buffer.len()) - opt.bytes).saturating_sub(signed_bytes).max(least);
    let mut message = Message { buffer, bytes: 0, most, is_full: false, counts: [0; 3] };
    message.put(&[0; HEADER_BYTES]);
    message.put(query.question);
    let (rcode, is_authoritative) = if matches!(signature, Some(Signature::Bad(..))) {
        (Rcode::NotAuth, false)
    } else if transport.carrier == Carrier::UdpPastLimit && !has_cookie {
        message.is_full = true;
        (Rcode::NoError, false)
    } else {
        judge((catalog, zone), &query, &mut message, transport, signature.is_some())
    };
    let is_truncated = message.is_full;
    if is_truncated {
        message.bytes = HEADER_BYTES + query.question.len();
        message.counts = [0; 3];
    }
    message.most += opt.bytes;
    message.is_full = false;
    opt.write(rcode, &query, transport, &mut message);
    message.head(&query, rcode, is_authoritative, is_truncated);
    let bytes = match (query.tsig, signature) {
        (Some(record), Some(signature)) => {
            signature.sign(&record, message.buffer, message.bytes, transport.now.into()).unwrap_or(0)
        }
        _ => message.bytes,
    };
    // Authority over the answer is what only a primary gets; a truncated answer has the same code.
    let is_notified = query.is_notify && is_authoritative;
    let zone = zone.map(|zone| zone.apex());
    Answered { bytes, rcode, query_type: query.query_type, is_truncated, has_cookie, zone, is_notified }
}

/// The code and whether it is this server's own knowledge, for a query without a signature or with a sound one.
fn judge(
    (catalog, zone): (&Catalog, Option<&Arc<DnsZone>>),
    query: &Query<'_>,
    message: &mut Message<'_>,
    transport: &Transport<'_>,
    is_signed: bool,
) -> (Rcode, bool) {
    if query.edns.is_some_and(|edns| edns.version > 0) {
        return (Rcode::BadVers, false);
    }
    if !matches!(query.class, 1 | CLASS_ANY) || query.query_type == AXFR {
        return (Rcode::Refused, false);
    }
    let Some(zone) = zone else { return (Rcode::Refused, false) };
    if query.is_notify {
        let primaries = zone.primaries().filter(|_| zone.apex().wire() == query.name());
        let is_primary = primaries.is_some_and(|policy| policy.allows(transport.client, is_signed));
        return (if is_primary { Rcode::NoError } else { Rcode::Refused }, is_primary);
    }
    if zone.is_expired() {
        return (Rcode::ServFail, false);
    }
    if query.query_type == IXFR {
        // Over UDP a client learns the serial, and asks again over TCP (RFC 1995 section 2).
        let policy = zone.transfers().filter(|_| zone.apex().wire() == query.name());
        if policy.is_none_or(|policy| !policy.allows(transport.client, is_signed)) {
            return (Rcode::Refused, false);
        }
        message.set(zone.soa(), QUESTION_NAME, Section::Answer, 0);
        return (Rcode::NoError, true);
    }
    ZoneAnswer { catalog, zone, query, message, now: transport.now }.answer()
}

/// How a query is signed.
pub(crate) enum Signature<'k> {
    By(&'k TsigKey),
    /// By no key of the zone, or not soundly.
    Bad(Option<&'k TsigKey>, TsigError),
}

impl<'k> Signature<'k> {
    /// Looks whether a key of the zone made a signature.
    pub(crate) fn check(zone: Option<&'k Arc<DnsZone>>, record: TsigRecord<'_>, now: u32) -> Self {
        let policies = zone.into_iter().flat_map(|zone| zone.transfers().into_iter().chain(zone.primaries()));
        let Some(key) = policies.flat_map(|policy| &policy.keys).find(|key| record.names(key)) else {
            return Self::Bad(None, TsigError::BadKey);
        };
        match record.verify(key, now.into()) {
            Ok(()) => Self::By(key),
            Err(error) => Self::Bad(Some(key), error),
        }
    }

    /// Bytes that the record in the answer takes at most.
    fn bytes(&self) -> usize {
        match self {
            Self::By(key) => key.record_bytes(),
            // Such an answer has no records that would need to leave room.
            Self::Bad(..) => 0,
        }
    }

    /// Signs an answer, or says why its query's signature was not taken. `None` if that does not fit.
    fn sign(&self, request: &TsigRecord<'_>, buffer: &mut [u8], bytes: usize, now: u64) -> Option<usize> {
        match self {
            Self::By(key) => TsigSigner::new(key, request.mac).sign(buffer, bytes, now, None),
            Self::Bad(Some(key), error @ TsigError::BadTime) => {
                TsigSigner::new(key, request.mac).sign(buffer, bytes, now, Some(*error))
            }
            Self::Bad(_, error) => tsig::refuse(request, buffer, bytes, *error, now),
        }
    }
}

/// The zone of a query: that of the longest name. A question for a DS record is about the zone above, if that is here.
fn zone_of<'c>(catalog: &'c Catalog, query: &Query<'_>) -> Option<&'c Arc<DnsZone>> {
    let name = query.name();
    if query.query_type == RecordType::Ds.number() && catalog.get(name).is_some() {
        let found = above(name).and_then(|above| longest_match(catalog, above));
        return found.or_else(|| catalog.get(name));
    }
    longest_match(catalog, name)
}

/// The zone of the longest name that a name is at or below.
pub(crate) fn longest_match<'c>(catalog: &'c Catalog, name: &[u8]) -> Option<&'c Arc<DnsZone>> {
    std::iter::successors(Some(name), |name| above(name)).find_map(|name| catalog.get(name))
}

/// The OPT record of an answer.
struct Opt {
    /// Without padding; 0 if the client has no such record.
    bytes: usize,
    is_padded: bool,
}

impl Opt {
    const PLAIN_BYTES: usize = 11;
    const COOKIE_BYTES: usize = 4 + 24;
    /// Padded answers are a multiple of this long (RFC 8467 section 4.1).
    const BLOCK_BYTES: usize = 468;

    fn of(query: &Query<'_>, carrier: Carrier) -> Self {
        let cookie = |has_cookie| if has_cookie { Self::COOKIE_BYTES } else { 0 };
        let bytes = query.edns.map_or(0, |edns| Self::PLAIN_BYTES + cookie(edns.cookie.is_some()));
        let is_padded = carrier == Carrier::Encrypted && query.edns.is_some_and(|edns| edns.is_padded);
        Self { bytes, is_padded }
    }

    fn write(&self, rcode: Rcode, query: &Query<'_>, transport: &Transport<'_>, message: &mut Message<'_>) {
        let Some(edns) = query.edns else { return };
        let padding = self.padding(message);
        let options = self.bytes - Self::PLAIN_BYTES + padding.map_or(0, |bytes| 4 + bytes);
        let [b0, b1] = (UDP_BYTES as u16).to_be_bytes();
        let [o0, o1] = u16::try_from(options).unwrap_or(0).to_be_bytes();
        let flags = if edns.is_dnssec_ok { 0x80 } else { 0 };
        message.put(&[0, 0, 41, b0, b1, rcode as u8 >> 4, 0, flags, 0, o0, o1]);
        if let Some(cookie) = edns.cookie.and_then(<[u8]>::first_chunk::<8>) {
            message.put(&[0, 10, 0, 24]);
            message.put(cookie);
            message.put(&transport.cookies.make(*cookie, transport.client, transport.now));
        }
        if let Some(bytes) = padding {
            let [p0, p1] = u16::try_from(bytes).unwrap_or(0).to_be_bytes();
            message.put(&[0, 12, p0, p1]);
            message.put([0; Self::BLOCK_BYTES].get(..bytes).unwrap_or(&[]));
        }
        message.count(Section::Additional, 1);
    }

    /// Bytes of padding; `None` if the answer has none, or no room for it.
    fn padding(&self, message: &Message<'_>) -> Option<usize> {
        let bytes = message.bytes + self.bytes + 4;
        let padding = bytes.next_multiple_of(Self::BLOCK_BYTES) - bytes;
        (self.is_padded && bytes + padding <= message.most).then_some(padding)
    }
}

/// The lowest TTL of the records in a message, in seconds; `None` if it has none.
pub fn lowest_ttl(message: &[u8]) -> Option<u32> {
    let (header, behind) = message.split_first_chunk::<HEADER_BYTES>()?;
    let [.., q0, q1, an0, an1, ns0, ns1, _, _] = *header;
    let mut rest = behind;
    for _ in 0..u16::from_be_bytes([q0, q1]) {
        rest = after_name(rest)?.get(4..)?;
    }
    let mut lowest = None;
    for _ in 0..u32::from(u16::from_be_bytes([an0, an1])) + u32::from(u16::from_be_bytes([ns0, ns1])) {
        let record = MessageRecord::read(rest)?;
        rest = record.behind;
        let ttl = u32::from_be_bytes(record.ttl);
        lowest = Some(lowest.map_or(ttl, |lowest: u32| lowest.min(ttl)));
    }
    lowest
}

/// Answers what is no query with a code, and nothing but the header.
fn refuse(packet: &[u8], rcode: Rcode, buffer: &mut [u8]) -> Answered<'static> {
    let (Some([id0, id1, flags0, ..]), Some(to)) =
        (packet.first_chunk::<HEADER_BYTES>(), buffer.first_chunk_mut::<HEADER_BYTES>())
    else {
        return Answered::NOTHING;
    };
    *to = [*id0, *id1, flags0 & 0x79 | 0x80, rcode as u8, 0, 0, 0, 0, 0, 0, 0, 0];
    Answered { bytes: HEADER_BYTES, rcode, ..Answered::NOTHING }
}

#[cfg(test)]
mod tests;
