//! What an authoritative server answers to a query (RFC 1034 section 4.3.2, RFC 4592, RFC 2308, RFC 8482).
//!
//! The answer is written into a buffer that is given; nothing is allocated.

use std::sync::Arc;

use crate::cookie::Cookies;
use crate::name::suffix_of;
use crate::query::{HEADER_BYTES, NoQuery, PLAIN_UDP_BYTES, Query, Rcode};
use crate::record_type::RecordType;
use crate::wire_map::WireMap;
use crate::zone::{CLASS_IN, DnsZone, Found, Node, QUESTION_NAME, RecordSet, SOA};

/// What this server takes, and sends at most, over UDP: what passes every network without fragments.
pub const UDP_BYTES: usize = 1_232;
/// Longest message over TCP.
pub const TCP_BYTES: usize = 65_535;
/// Most aliases that are followed in one answer.
const MAX_CHAIN: usize = 8;
const AXFR: u16 = 252;
const IXFR: u16 = 251;
const ANY: u16 = 255;
const HINFO: [u8; 2] = [0, 13];
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

#[derive(Clone, Copy, Debug)]
enum Section {
    Answer = 0,
    Authority = 1,
    Additional = 2,
}

/// A message that is being written.
struct Message<'b> {
    buffer: &'b mut [u8],
    bytes: usize,
    most: usize,
    /// Whether something did not fit.
    is_full: bool,
    /// Records of each section.
    counts: [u16; 3],
}

impl Message<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let end = self.bytes + bytes.len();
        match self.buffer.get_mut(self.bytes..end.min(self.most)) {
            Some(to) if to.len() == bytes.len() => {
                to.copy_from_slice(bytes);
                self.bytes = end;
            }
            _ => self.is_full = true,
        }
    }

    fn count(&mut self, section: Section, records: u16) {
        if let Some(count) = self.counts.get_mut(section as usize) {
            *count += records;
        }
    }

    /// Puts a set, whose name is at `owner`. Sets of addresses begin with another record each time.
    fn set(&mut self, set: &RecordSet, owner: [u8; 2], section: Section, rotation: usize) {
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

    fn set_if_it_fits(&mut self, set: &RecordSet, owner: [u8; 2], section: Section) {
        if !self.is_full && self.bytes + set.wire.len() <= self.most {
            self.set(set, owner, section, 0);
        }
    }

    /// The one record that stands for all (RFC 8482 section 4.2).
    fn minimal_any(&mut self, owner: [u8; 2]) {
        self.put(&owner);
        self.put(&HINFO);
        self.put(&CLASS_IN);
        self.put(&3_600_u32.to_be_bytes());
        self.put(b"\0\x09\x07RFC8482\0");
        self.count(Section::Answer, 1);
    }

    fn head(&mut self, query: &Query<'_>, rcode: Rcode, is_authoritative: bool, is_truncated: bool) {
        let [id0, id1] = query.id;
        let flags0 = 0x80
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
mod tests {
    use std::borrow::Cow;
    use std::collections::BTreeMap;
    use std::fmt::Write;

    use super::*;
    use crate::query::tests::{opt, packet};
    use crate::zone::{NodeRecords, Soa};
    use crate::zone_file::{self, EntryData};
    use crate::{Name, Rdata};

    const ZONE: &str = "\
        @ 300 MX 10 mail\n@ 300 A 192.0.2.1\nwww 60 CNAME web\nweb 60 A 192.0.2.2\nweb 60 A 192.0.2.3\n\
        mail A 192.0.2.4\nout CNAME www.example.org.\na.b.c TXT x\n*.wild TXT wild\nreal.wild A 192.0.2.5\n\
        sub NS ns1.sub\nsub NS ns.example.org.\nsub DS 1 13 2 aabb\nns1.sub A 192.0.2.6\nns1.sub AAAA 2001:db8::6\n\
        loop1 CNAME loop2\nloop2 CNAME loop1\nchain CNAME x.wild\ntosub CNAME deep.sub\ngone CNAME nothing\n\
        *.alias CNAME web\nboth CNAME web\nboth TXT beside\n";

    pub(super) fn name(text: &str) -> Name {
        Name::parse(text, None).unwrap()
    }

    fn zone(text: &str) -> DnsZone {
        let apex = name("example.com");
        let soa = Soa {
            primary: name("ns1.edge.example"),
            mailbox: name("dns.edge.example"),
            serial: 7,
            refresh: 1,
            retry: 2,
            expire: 3,
            minimum: 60,
            ttl: 3600,
        };
        let mut zone = DnsZone::new(apex.clone(), &soa, &[name("ns1.edge.example")], 86_400);
        let mut nodes: BTreeMap<Name, Vec<(u32, Cow<'_, Rdata>)>> = BTreeMap::new();
        for entry in zone_file::parse(text, &apex).unwrap() {
            let EntryData::Record(rdata) = entry.data else { panic!("{entry:?}") };
            nodes.entry(entry.owner).or_default().push((entry.ttl.unwrap_or(300), Cow::Owned(rdata)));
        }
        for (name, records) in nodes {
            zone.set(&NodeRecords { name: &name, records });
        }
        zone
    }

    fn catalog(zone: DnsZone) -> Catalog {
        let mut catalog = Catalog::default();
        catalog.insert(zone.apex().clone().wire(), Arc::new(zone));
        catalog
    }

    fn ask(catalog: &Catalog, packet: &[u8], is_stream: bool, is_limited: bool) -> (Answered, Vec<u8>) {
        let cookies = Cookies::new([7; 16]);
        let client = "192.0.2.200".parse().unwrap();
        let transport = Transport { is_stream, is_limited, cookies: &cookies, client, now: 1_000_000 };
        let mut buffer = vec![0; TCP_BYTES];
        let answered = answer(catalog, packet, &transport, &mut buffer);
        buffer.truncate(answered.bytes);
        (answered, buffer)
    }

    fn name_at(message: &[u8], at: &mut usize) -> String {
        let (mut place, mut moved, mut text) = (*at, false, String::new());
        loop {
            let length = usize::from(message[place]);
            if length >= 192 {
                if !moved {
                    *at = place + 2;
                }
                moved = true;
                let target = (length & 63) << 8 | usize::from(message[place + 1]);
                assert!(target < place, "pointers lead back");
                place = target;
                continue;
            }
            if length == 0 {
                if !moved {
                    *at = place + 1;
                }
                return text;
            }
            let label = String::from_utf8_lossy(&message[place + 1..place + 1 + length]);
            let _ = write!(text, "{label}.");
            place += 1 + length;
        }
    }

    /// Flags and records of a message, without OPT: `aa/tc rcode | answers | authorities | additional`.
    fn shown(message: &[u8]) -> String {
        let short = |at: usize| u16::from_be_bytes([message[at], message[at + 1]]);
        let mut at = 12;
        if short(4) == 1 {
            name_at(message, &mut at);
            at += 4;
        }
        let flags = format!(
            "{}{}",
            if message[2] & 4 > 0 { "aa" } else { "" },
            if message[2] & 2 > 0 { "tc" } else { "" }
        );
        let mut text = format!("{flags} {}", message[3] & 15);
        for section in 0..3 {
            text.push_str(" |");
            for _ in 0..short(6 + 2 * section) {
                let owner = name_at(message, &mut at);
                let (record_type, ttl) = (short(at), short(at + 6));
                let length = usize::from(short(at + 8));
                at += 10;
                let word = RecordType::of_number(record_type)
                    .map_or(format!("TYPE{record_type}"), |known| known.word().to_owned());
                if record_type != 41 {
                    let _ = write!(text, " {owner} {ttl} {word}");
                }
                let mut end = at;
                if matches!(word.as_str(), "CNAME" | "NS") {
                    let _ = write!(text, " {}", name_at(message, &mut end));
                } else if word == "A" {
                    let _ = write!(text, " {}", message[at + 3]);
                }
                at += length;
            }
        }
        assert_eq!(at, message.len(), "{text}");
        text
    }

    #[test]
    fn answers_are_those_of_the_standards() {
        let catalog = catalog(zone(ZONE));
        let soa = "example.com. 60 TYPE6";
        for (asked, query_type, expected) in [
            ("example.com", 1, "aa 0 | example.com. 300 A 1 | |".to_owned()),
            ("EXAMPLE.com", 15, "aa 0 | EXAMPLE.com. 300 MX | |".to_owned()),
            ("example.com", 6, "aa 0 | example.com. 3600 TYPE6 | |".to_owned()),
            ("example.com", 2, "aa 0 | example.com. 20864 NS ns1.edge.example. | |".to_owned()),
            ("example.com", 28, format!("aa 0 | | {soa} |")),
            ("nothing.example.com", 1, format!("aa 3 | | {soa} |")),
            ("b.c.example.com", 1, format!("aa 0 | | {soa} |")),
            ("x.a.b.c.example.com", 1, format!("aa 3 | | {soa} |")),
            ("www.example.com", 1, "aa 0 | www.example.com. 60 CNAME web.example.com. web.example.com. 60 A 3 web.example.com. 60 A 2 | |".to_owned()),
            ("www.example.com", 5, "aa 0 | www.example.com. 60 CNAME web.example.com. | |".to_owned()),
            ("www.example.com", 16, format!("aa 0 | www.example.com. 60 CNAME web.example.com. | {soa} |")),
            ("out.example.com", 1, "aa 0 | out.example.com. 300 CNAME www.example.org. | |".to_owned()),
            ("gone.example.com", 1, format!("aa 3 | gone.example.com. 300 CNAME nothing.example.com. | {soa} |")),
            ("x.wild.example.com", 16, "aa 0 | x.wild.example.com. 300 TXT | |".to_owned()),
            ("x.y.wild.example.com", 16, "aa 0 | x.y.wild.example.com. 300 TXT | |".to_owned()),
            ("x.wild.example.com", 1, format!("aa 0 | | {soa} |")),
            ("real.wild.example.com", 16, format!("aa 0 | | {soa} |")),
            ("x.real.wild.example.com", 16, format!("aa 3 | | {soa} |")),
            ("wild.example.com", 16, format!("aa 0 | | {soa} |")),
            ("*.wild.example.com", 16, "aa 0 | *.wild.example.com. 300 TXT | |".to_owned()),
            ("chain.example.com", 16, "aa 0 | chain.example.com. 300 CNAME x.wild.example.com. x.wild.example.com. 300 TXT | |".to_owned()),
            ("q.alias.example.com", 1, "aa 0 | q.alias.example.com. 300 CNAME web.example.com. web.example.com. 60 A 3 web.example.com. 60 A 2 | |".to_owned()),
            ("both.example.com", 16, "aa 0 | both.example.com. 300 TXT | |".to_owned()),
            ("www.example.com", 255, "aa 0 | www.example.com. 60 CNAME web.example.com. | |".to_owned()),
            ("example.com", 255, "aa 0 | example.com. 3600 TYPE13 | |".to_owned()),
            ("b.c.example.com", 255, format!("aa 0 | | {soa} |")),
            ("sub.example.com", 43, "aa 0 | sub.example.com. 300 DS | |".to_owned()),
            ("sub.example.com", 1, " 0 | | sub.example.com. 300 NS ns.example.org. sub.example.com. 300 NS ns1.sub.example.com. | ns1.sub.example.com. 300 A 6 ns1.sub.example.com. 300 AAAA".to_owned()),
            ("x.y.sub.example.com", 43, " 0 | | sub.example.com. 300 NS ns.example.org. sub.example.com. 300 NS ns1.sub.example.com. | ns1.sub.example.com. 300 A 6 ns1.sub.example.com. 300 AAAA".to_owned()),
            ("tosub.example.com", 1, "aa 0 | tosub.example.com. 300 CNAME deep.sub.example.com. | sub.example.com. 300 NS ns.example.org. sub.example.com. 300 NS ns1.sub.example.com. | ns1.sub.example.com. 300 A 6 ns1.sub.example.com. 300 AAAA".to_owned()),
            ("example.com", 43, format!("aa 0 | | {soa} |")),
            ("example.org", 1, " 5 | | |".to_owned()),
            ("example.com", 252, " 5 | | |".to_owned()),
            (".", 1, " 5 | | |".to_owned()),
        ] {
            let mut query = packet(asked, query_type, &[]);
            // As it was written.
            for (at, byte) in asked.split('.').collect::<Vec<_>>().join("\0").bytes().enumerate() {
                if byte != 0 && asked != "." {
                    query[13 + at] = byte;
                }
            }
            let (_, message) = ask(&catalog, &query, false, false);
            let expected = if expected.ends_with('|') || expected.contains("AAAA") { expected } else { format!("{expected} |") };
            assert_eq!(shown(&message).trim_end(), expected.trim_end(), "{asked} {query_type}");
            assert_eq!(message[..2], [0xAB, 0xCD]);
        }
        let (_, looped) = ask(&catalog, &packet("loop1.example.com", 1, &[]), false, false);
        assert_eq!(u16::from_be_bytes([looped[6], looped[7]]), 8, "a loop ends");
        let chaos = {
            let mut chaos = packet("version.bind", 16, &[]);
            let end = chaos.len();
            chaos[end - 1] = 3;
            chaos
        };
        assert_eq!(ask(&catalog, &chaos, false, false).0.rcode, Rcode::Refused);
    }

    #[test]
    fn answers_are_as_long_as_the_client_takes() {
        let many: String = (0..100).map(|nth| format!("many 60 A 192.0.2.{nth}\n")).collect();
        let catalog = catalog(zone(&many));
        let plain = packet("many.example.com", 1, &[]);
        let (answered, message) = ask(&catalog, &plain, false, false);
        assert!(answered.is_truncated && message.len() == plain.len());
        assert_eq!(shown(&message).trim_end(), "aatc 0 | | |");
        let (answered, message) =
            ask(&catalog, &packet("many.example.com", 1, &opt(65_535, false, &[])), false, false);
        assert!(answered.is_truncated && message.len() == plain.len() + 11);
        let (answered, message) = ask(&catalog, &plain, true, false);
        assert!(!answered.is_truncated && message.len() == plain.len() + 100 * 16);
        let mut first = std::collections::BTreeSet::new();
        for id in 0..50 {
            let mut query = plain.clone();
            query[1] = id;
            let (_, message) = ask(&catalog, &query, true, false);
            first.insert(message[plain.len() + 15]);
        }
        assert!(first.len() > 20, "addresses take turns");
    }

    #[test]
    fn cookies_and_versions_are_answered_and_limits_need_a_cookie() {
        let catalog = catalog(zone(ZONE));
        let sent = |options: &[u8]| packet("web.example.com", 1, &opt(1232, true, options));
        let (answered, message) = ask(&catalog, &sent(b"\0\x0a\0\x08abcdefgh"), false, true);
        assert!(answered.is_truncated && !answered.has_cookie);
        assert!(
            message.len() * 2 <= sent(b"\0\x0a\0\x08abcdefgh").len() * 3,
            "no more than half as much again"
        );
        let cookie = &message[message.len() - 28..];
        let (answered, _) = ask(&catalog, &sent(cookie), false, true);
        assert!(!answered.is_truncated && answered.has_cookie && answered.rcode == Rcode::NoError);
        let mut newer = sent(&[]);
        let version = newer.len() - 5;
        newer[version] = 1;
        let (answered, message) = ask(&catalog, &newer, false, false);
        assert_eq!(answered.rcode, Rcode::BadVers);
        assert_eq!(message[message.len() - 6], 1, "the upper bits of the code");
    }

    #[test]
    fn names_come_and_go_with_those_above_them() {
        let mut zone = zone(ZONE);
        let names = zone.names();
        let set = |zone: &mut DnsZone, text: &str, records: &[&str]| {
            let records =
                records.iter().map(|text| (60, Cow::Owned(Rdata::parse(RecordType::A, text, None).unwrap())));
            zone.set(&NodeRecords { name: &name(text), records: records.collect() });
        };
        let before = zone.clone();
        set(&mut zone, "x.y.z.example.com", &["192.0.2.9"]);
        assert_eq!(zone.names(), names + 3);
        set(&mut zone, "z.example.com", &["192.0.2.9"]);
        set(&mut zone, "x.y.z.example.com", &[]);
        assert_eq!(zone.names(), names + 1);
        set(&mut zone, "z.example.com", &[]);
        set(&mut zone, "a.b.c.example.com", &[]);
        assert_eq!((zone.names(), before.names()), (names - 3, names));
        set(&mut zone, "outside.example.org", &["192.0.2.9"]);
        assert_eq!(zone.names(), names - 3);
        let gone = ask(&catalog(zone), &packet("b.c.example.com", 1, &[]), false, false).0;
        assert_eq!(gone.rcode, Rcode::NxDomain);
    }
}
