//! What an authoritative server answers to a query (RFC 1034 section 4.3.2, RFC 4592, RFC 2308, RFC 8482).
//!
//! The answer is written into a buffer that is given; nothing is allocated.

mod message;

use std::sync::Arc;

use crate::cookie::Cookies;
use crate::name::suffix_of;
use crate::query::{HEADER_BYTES, NoQuery, PLAIN_UDP_BYTES, Query, Rcode};
use crate::record_type::RecordType;
use crate::wire_map::WireMap;
use crate::zone::{DnsZone, Found, Node, SOA};
use message::{Message, Section};

/// What this server takes, and sends at most, over UDP: what passes every network without fragments.
pub const UDP_BYTES: usize = 1_232;
/// Longest message over TCP.
pub const TCP_BYTES: usize = 65_535;
/// Most aliases that are followed in one answer.
const MAX_CHAIN: usize = 8;
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
    pub client: std::net::IpAddr,
    /// Seconds since the epoch, for cookies.
    pub now: u32,
}

/// What was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Bytes of the answer in the buffer; none if nothing is answered.
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
    let opt = Opt::of(&query, transport);
    let most = most.min(buffer.len()) - opt.bytes;
    let mut message = Message { buffer, bytes: 0, most, is_full: false, counts: [0; 3] };
    message.put(&[0; HEADER_BYTES]);
    message.put(query.question);
    let (rcode, is_authoritative) = if transport.is_limited && !has_cookie && !transport.is_stream {
        message.is_full = true;
        (Rcode::NoError, false)
    } else {
        judge(catalog, &query, &mut message)
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
fn judge(catalog: &Catalog, query: &Query<'_>, message: &mut Message<'_>) -> (Rcode, bool) {
    if query.edns.is_some_and(|edns| edns.version > 0) {
        return (Rcode::BadVers, false);
    }
    if !matches!(query.class, 1 | CLASS_ANY) || matches!(query.query_type, AXFR | IXFR) {
        return (Rcode::Refused, false);
    }
    match zone_of(catalog, query) {
        Some(zone) => from_zone(zone, query, message),
        None => (Rcode::Refused, false),
    }
}

/// The zone of a query: that of the longest name. A question for a DS record is about the zone above.
fn zone_of<'c>(catalog: &'c Catalog, query: &Query<'_>) -> Option<&'c Arc<DnsZone>> {
    let mut name = query.name();
    let mut own = None;
    loop {
        if let Some(zone) = catalog.get(name) {
            if query.query_type != RecordType::Ds.number() || name.len() < query.name().len() {
                return Some(zone);
            }
            own = Some(zone);
        }
        let Some((&length, rest)) = name.split_first().filter(|(length, _)| **length > 0) else { return own };
        name = rest.get(usize::from(length)..)?;
    }
}

/// A name in the message, and its place there.
#[derive(Clone, Copy)]
struct PlacedName<'n> {
    wire: &'n [u8],
    place: usize,
}

impl PlacedName<'_> {
    /// A pointer to its last so many bytes.
    fn pointer(self, suffix_bytes: usize) -> [u8; 2] {
        let place = self.place + self.wire.len().saturating_sub(suffix_bytes);
        // INVARIANT: names that are pointed to stand in the question or the first records of a chain, below 16 KiB.
        (u16::try_from(place).unwrap_or(0) & 0x3FFF | 0xC000).to_be_bytes()
    }
}

fn from_zone(zone: &DnsZone, query: &Query<'_>, message: &mut Message<'_>) -> (Rcode, bool) {
    let mut name = PlacedName { wire: query.name(), place: HEADER_BYTES };
    let apex_bytes = zone.apex().wire().len();
    for _ in 0..MAX_CHAIN {
        // A chain that leaves the zone is followed by who asks.
        let Some(key) = zone.key(name.wire) else { return (Rcode::NoError, true) };
        let node = match zone.find(key) {
            Found::Cut(cut, node) => {
                let is_about_cut = cut.len() == key.len() && query.query_type == RecordType::Ds.number();
                if !is_about_cut {
                    let is_first = message.counts == [0; 3];
                    refer(zone, cut, node, name, message);
                    return (Rcode::NoError, !is_first);
                }
                node
            }
            Found::Node(node) | Found::Wildcard(node) => node,
            Found::Nothing => {
                message.set(&zone.negative_soa, name.pointer(apex_bytes), Section::Authority, 0);
                return (Rcode::NxDomain, true);
            }
        };
        let owner = name.pointer(name.wire.len());
        if put_sets(zone, node, key.is_empty(), query, owner, message) {
            return (Rcode::NoError, true);
        }
        let Some(alias) = node.set(RecordType::Cname.number()) else {
            message.set(&zone.negative_soa, name.pointer(apex_bytes), Section::Authority, 0);
            return (Rcode::NoError, true);
        };
        let Some(target) = alias.rdata().next() else { return (Rcode::ServFail, true) };
        message.set(alias, owner, Section::Answer, 0);
        if query.query_type == ANY {
            return (Rcode::NoError, true);
        }
        name = PlacedName { wire: target, place: message.bytes.saturating_sub(target.len()) };
    }
    (Rcode::NoError, true)
}

/// Puts the records of the type that is asked for; whether there are some.
fn put_sets(
    zone: &DnsZone,
    node: &Node,
    is_apex: bool,
    query: &Query<'_>,
    owner: [u8; 2],
    message: &mut Message<'_>,
) -> bool {
    let rotation = usize::from(u16::from_be_bytes(query.id));
    let own = |record_type: u16| match record_type {
        SOA if is_apex => Some(&*zone.soa),
        2 if is_apex && zone.name_servers.count > 0 => Some(&*zone.name_servers),
        _ => None,
    };
    match query.query_type {
        ANY => {
            let is_there = is_apex || !node.sets().is_empty();
            if is_there && node.set(RecordType::Cname.number()).is_none() {
                message.minimal_any(owner);
                return true;
            }
            false
        }
        wanted => match own(wanted).or_else(|| node.set(wanted)) {
            Some(set) => {
                message.set(set, owner, Section::Answer, rotation);
                true
            }
            None => false,
        },
    }
}

/// Names the name servers of a delegation, with their addresses as far as the zone has them.
fn refer(zone: &DnsZone, cut: &[u8], node: &Node, name: PlacedName<'_>, message: &mut Message<'_>) {
    let owner = name.pointer(cut.len() + zone.apex().wire().len());
    let Some(servers) = node.set(RecordType::Ns.number()) else { return };
    let start = message.bytes;
    message.set(servers, owner, Section::Authority, 0);
    // Each NS record's name stands behind its head of 12 bytes, where the addresses point to.
    let mut place = start;
    for server in servers.rdata() {
        place += 12;
        let pointer = (u16::try_from(place).unwrap_or(0) & 0x3FFF | 0xC000).to_be_bytes();
        place += server.len();
        // Only what is below the delegation is needed to follow it (RFC 9471).
        let cut_bytes = cut.len() + zone.apex().wire().len();
        let cut_name = name.wire.get(name.wire.len().saturating_sub(cut_bytes)..).unwrap_or(&[]);
        let is_below = suffix_of(server, cut_bytes).is_some_and(|suffix| suffix == cut_name);
        let Some(glue) = zone.glue(server) else { continue };
        for record_type in [RecordType::A, RecordType::Aaaa] {
            let Some(set) = glue.set(record_type.number()) else { continue };
            if is_below {
                message.set(set, pointer, Section::Additional, 0);
            } else {
                message.set_if_it_fits(set, pointer, Section::Additional);
            }
        }
    }
}

/// The OPT record of an answer.
struct Opt {
    /// None if the client has none.
    bytes: usize,
}

impl Opt {
    const PLAIN_BYTES: usize = 11;
    const COOKIE_BYTES: usize = 4 + 24;

    fn of(query: &Query<'_>, _: &Transport<'_>) -> Self {
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
