//! What an authoritative server answers to a query (RFC 1034 section 4.3.2, RFC 4592, RFC 2308, RFC 8482).
//!
//! The answer is written into the caller's buffer. Only signing allocates.

mod from_zone;
mod message;

use std::net::IpAddr;
use std::sync::Arc;

use crate::cookie::Cookies;
use crate::name::above;
use crate::query::{HEADER_BYTES, NoQuery, PLAIN_UDP_BYTES, Query, Rcode};
use crate::record_type::RecordType;
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
const AXFR: u16 = 252;
const IXFR: u16 = 251;
const ANY: u16 = 255;
const CLASS_ANY: u16 = 255;

/// Zones by their names in wire form.
pub type Catalog = WireMap<Arc<DnsZone>>;

/// How a query came.
#[derive(Clone, Copy, Debug)]
pub struct Transport<'c> {
    /// Whether the answer may be long.
    pub is_stream: bool,
    /// Whether only who shows a cookie gets more than a truncated answer.
    pub is_limited: bool,
    pub cookies: &'c Cookies,
    pub client: IpAddr,
    /// Seconds since the epoch, for cookies and signatures.
    pub now: u32,
}

/// What was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Bytes of the answer in the buffer; 0 if there is no answer.
    pub bytes: usize,
    pub rcode: Rcode,
    /// The type that was asked for; 0 if the question was not understood.
    pub query_type: u16,
    pub is_truncated: bool,
    /// Whether the client showed a cookie of this server.
    pub has_cookie: bool,
}

impl Answered {
    const NOTHING: Self =
        Self { bytes: 0, rcode: Rcode::FormErr, query_type: 0, is_truncated: false, has_cookie: false };
}

/// Answers a message from zones into `buffer`, which has room for a whole answer.
pub fn answer(catalog: &Catalog, packet: &[u8], transport: &Transport<'_>, buffer: &mut [u8]) -> Answered {
    let query = match Query::read(packet) {
        Ok(query) => query,
        Err(NoQuery::Silence) => return Answered::NOTHING,
        Err(NoQuery::Refuse(rcode)) => return refuse(packet, rcode, buffer),
    };
    let cookie = query.edns.and_then(|edns| edns.cookie);
    let has_cookie =
        cookie.is_some_and(|cookie| transport.cookies.knows(cookie, transport.client, transport.now));
    let most = match (transport.is_stream, query.edns) {
        (true, _) => TCP_BYTES,
        (false, Some(edns)) => usize::from(edns.udp_bytes).clamp(PLAIN_UDP_BYTES, UDP_BYTES),
        (false, None) => PLAIN_UDP_BYTES,
    };
    let opt = Opt::of(&query);
    let most = most.min(buffer.len()) - opt.bytes;
    let mut message = Message { buffer, bytes: 0, most, is_full: false, counts: [0; 3] };
    message.put(&[0; HEADER_BYTES]);
    message.put(query.question);
    let (rcode, is_authoritative) = if transport.is_limited && !has_cookie && !transport.is_stream {
        message.is_full = true;
        (Rcode::NoError, false)
    } else {
        judge(catalog, &query, &mut message, transport.now)
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
    Answered { bytes: message.bytes, rcode, query_type: query.query_type, is_truncated, has_cookie }
}

/// The code and whether it is this server's own knowledge.
fn judge(catalog: &Catalog, query: &Query<'_>, message: &mut Message<'_>, now: u32) -> (Rcode, bool) {
    if query.edns.is_some_and(|edns| edns.version > 0) {
        return (Rcode::BadVers, false);
    }
    if !matches!(query.class, 1 | CLASS_ANY) || matches!(query.query_type, AXFR | IXFR) {
        return (Rcode::Refused, false);
    }
    match zone_of(catalog, query) {
        Some(zone) => ZoneAnswer { catalog, zone, query, message, now }.answer(),
        None => (Rcode::Refused, false),
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
    /// None if the client has none.
    bytes: usize,
}

impl Opt {
    const PLAIN_BYTES: usize = 11;
    const COOKIE_BYTES: usize = 4 + 24;

    fn of(query: &Query<'_>) -> Self {
        let bytes = query
            .edns
            .map_or(0, |edns| Self::PLAIN_BYTES + if edns.cookie.is_some() { Self::COOKIE_BYTES } else { 0 });
        Self { bytes }
    }

    fn write(&self, rcode: Rcode, query: &Query<'_>, transport: &Transport<'_>, message: &mut Message<'_>) {
        let Some(edns) = query.edns else { return };
        let [b0, b1] = (UDP_BYTES as u16).to_be_bytes();
        let options = u8::try_from(self.bytes - Self::PLAIN_BYTES).unwrap_or(0);
        let flags = if edns.is_dnssec_ok { 0x80 } else { 0 };
        message.put(&[0, 0, 41, b0, b1, rcode as u8 >> 4, 0, flags, 0, 0, options]);
        if let Some(cookie) = edns.cookie.and_then(<[u8]>::first_chunk::<8>) {
            message.put(&[0, 10, 0, 24]);
            message.put(cookie);
            message.put(&transport.cookies.make(*cookie, transport.client, transport.now));
        }
        message.count(Section::Additional, 1);
    }
}

/// Answers what is no query with a code, and nothing but the header.
fn refuse(packet: &[u8], rcode: Rcode, buffer: &mut [u8]) -> Answered {
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
