//! The sections of an answer from one zone, signed if the zone has a key and the client asks.

use std::sync::{Arc, LazyLock};

use smallvec::SmallVec;

use super::message::{Message, Section};
use super::{ANY, Catalog, MAX_CHAIN, longest_match};
use crate::denial::{self, HashedDenial, NSEC, NXNAME};
use crate::dnssec::{RRSIG, ZoneKey};
use crate::message_record::HEADER_BYTES;
use crate::name::{MAX_WIRE_BYTES, suffix_of};
use crate::query::{Query, Rcode};
use crate::record_set::RecordSet;
use crate::record_type::RecordType;
use crate::zone::{DnsZone, Found, Node, SOA};

/// A name in the message, and its place there.
#[derive(Clone, Copy)]
struct PlacedName<'n> {
    wire: &'n [u8],
    place: usize,
}

impl<'n> PlacedName<'n> {
    fn pointer(self) -> [u8; 2] {
        // INVARIANT: names that are pointed to stand in the question or the first records of a chain, below 16 KiB.
        (u16::try_from(self.place).unwrap_or(0) & 0x3FFF | 0xC000).to_be_bytes()
    }

    /// The last `bytes` bytes of the name.
    fn suffix(self, bytes: usize) -> Self {
        let skipped = self.wire.len().saturating_sub(bytes);
        Self { wire: self.wire.get(skipped..).unwrap_or(&[]), place: self.place + skipped }
    }
}

/// One answer from one zone.
pub(super) struct ZoneAnswer<'a, 'b, 'c> {
    pub(super) catalog: &'a Catalog,
    pub(super) zone: &'a Arc<DnsZone>,
    pub(super) query: &'a Query<'a>,
    pub(super) message: &'c mut Message<'b>,
    /// Seconds since the epoch, for signatures.
    pub(super) now: u32,
}

impl<'a> ZoneAnswer<'a, '_, '_> {
    /// The code, and whether it is the zone's own knowledge.
    pub(super) fn answer(&mut self) -> (Rcode, bool) {
        let (zone, query) = (self.zone, self.query);
        let mut name = PlacedName { wire: query.name(), place: HEADER_BYTES };
        for step in 0..MAX_CHAIN {
            // The client follows an alias that leaves the zone.
            let is_own = step == 0
                || longest_match(self.catalog, name.wire).is_some_and(|found| Arc::ptr_eq(found, self.zone));
            let Some(key) = zone.key(name.wire).filter(|_| is_own) else { return (Rcode::NoError, true) };
            let node = match zone.find(key) {
                Found::Cut(cut, node) => {
                    let is_about_cut = cut.len() == key.len() && query.query_type == RecordType::Ds.number();
                    if !is_about_cut {
                        self.refer(node, name.suffix(cut.len() + zone.apex().wire().len()));
                        return (Rcode::NoError, step > 0);
                    }
                    node
                }
                Found::Node(node) | Found::Wildcard(node) => node,
                Found::Nothing => return (self.deny(name), true),
            };
            if self.put_sets(node, key.is_empty(), name) {
                return (Rcode::NoError, true);
            }
            let Some(alias) = node.set(RecordType::Cname.number()).filter(|_| !self.wants_nsec()) else {
                self.no_data(node, key.is_empty(), name);
                return (Rcode::NoError, true);
            };
            let Some(target) = alias.rdata().next() else { return (Rcode::ServFail, true) };
            let end = self.message.bytes + alias.wire.len();
            self.put(alias, name, Section::Answer, 0);
            if query.query_type == ANY {
                return (Rcode::NoError, true);
            }
            name = PlacedName { wire: target, place: end.saturating_sub(target.len()) };
        }
        (Rcode::NoError, true)
    }

    /// The key of the zone, if the client asks for signatures.
    fn key(&self) -> Option<&'a ZoneKey> {
        self.zone.key_pair().filter(|_| self.query.is_dnssec_ok())
    }

    /// Puts a set with its signature.
    fn put(&mut self, set: &RecordSet, name: PlacedName<'_>, section: Section, rotation: usize) {
        self.message.set(set, name.pointer(), section, rotation);
        let Some(key) = self.key() else { return };
        for key in std::iter::once(key).chain(self.zone.other_key(set.record_type)) {
            if let Some(signature) = key.sign(self.zone.apex(), name.wire, set, self.now) {
                self.message.record(&signature, name.pointer(), section);
            }
        }
    }

    /// Puts the records of the type that is asked for; whether there are some.
    fn put_sets(&mut self, node: &Node, is_apex: bool, name: PlacedName<'_>) -> bool {
        let rotation = usize::from(u16::from_be_bytes(self.query.id));
        let zone = self.zone;
        match self.query.query_type {
            ANY => {
                let is_there = is_apex || !node.sets().is_empty();
                if !is_there || node.set(RecordType::Cname.number()).is_some() {
                    return false;
                }
                self.put(&MINIMAL_ANY, name, Section::Answer, 0);
                true
            }
            wanted => match zone.own_set(wanted).filter(|_| is_apex).or_else(|| node.set(wanted)) {
                Some(set) => {
                    self.put(set, name, Section::Answer, rotation);
                    true
                }
                None => false,
            },
        }
    }

    /// There is no such name.
    fn deny(&mut self, name: PlacedName<'_>) -> Rcode {
        if self.key().is_none() {
            self.negative(name);
            return Rcode::NxDomain;
        }
        self.put_denial(name, &[NXNAME]);
        // The record says that the name does not exist; the code is that of a name that does (RFC 9824 section 3).
        Rcode::NoError
    }

    /// The name has no records of the type.
    fn no_data(&mut self, node: &Node, is_apex: bool, name: PlacedName<'_>) {
        if self.key().is_some() {
            self.put_denial(name, &self.types(node, is_apex));
        } else {
            self.negative(name);
        }
    }

    /// Whether the denial of a name is what is asked for: each name of a signed zone has one, if it is not hashed.
    fn wants_nsec(&self) -> bool {
        self.query.query_type == NSEC && self.key().is_some() && !self.zone.uses_nsec3()
    }

    /// The zone's own types at a name, but those of signatures and denials.
    fn types(&self, node: &Node, is_apex: bool) -> SmallVec<[u16; 32]> {
        let of_parent = [RecordType::Ns.number(), RecordType::Ds.number()];
        let is_own = |of: &u16| is_apex || !node.is_cut() || of_parent.contains(of);
        let types = node.sets().iter().map(|set| set.record_type);
        let mut types: SmallVec<[u16; 32]> = types.filter(is_own).collect();
        if is_apex {
            types.extend([SOA, RecordType::Ns.number()]);
            types.extend(self.zone.signing_types());
        }
        types
    }

    /// The start of authority, which says how long the answer holds.
    fn negative(&mut self, name: PlacedName<'_>) {
        let zone = self.zone;
        self.put(&zone.negative_soa, name.suffix(zone.apex().wire().len()), Section::Authority, 0);
    }

    /// Says that a name has these types only.
    fn put_denial(&mut self, name: PlacedName<'_>, types: &[u16]) {
        if self.wants_nsec() {
            return self.put_nsec(name, types, Section::Answer);
        }
        self.negative(name);
        self.put_proof(name, types);
    }

    /// Puts the record that says that a name has these types only.
    fn put_proof(&mut self, name: PlacedName<'_>, types: &[u16]) {
        if !self.zone.uses_nsec3() {
            return self.put_nsec(name, types, Section::Authority);
        }
        let Some(key) = self.key() else { return };
        let mut types = SmallVec::<[u16; 32]>::from_slice(types);
        // A name without records has no signature, nor has a delegation.
        let is_signed = types.iter().any(|of| ![NXNAME, RecordType::Ns.number()].contains(of));
        types.extend(is_signed.then_some(RRSIG));
        let HashedDenial { label, set } = denial::nsec3(name.wire, &types, self.zone.negative_soa.ttl());
        let apex = name.suffix(self.zone.apex().wire().len());
        let owner: SmallVec<[u8; MAX_WIRE_BYTES]> = label.iter().chain(apex.wire).copied().collect();
        self.message.labelled_record(&set.wire, &label, apex.pointer(), Section::Authority);
        if let Some(signature) = key.sign(self.zone.apex(), &owner, &set, self.now) {
            self.message.labelled_record(&signature, &label, apex.pointer(), Section::Authority);
        }
    }

    /// Puts it at the name itself.
    fn put_nsec(&mut self, name: PlacedName<'_>, types: &[u16], section: Section) {
        let mut types = SmallVec::<[u16; 32]>::from_slice(types);
        types.extend([RRSIG, NSEC]);
        self.put(&denial::nsec(name.wire, &types, self.zone.negative_soa.ttl()), name, section, 0);
    }

    /// Names the name servers of a delegation, with their addresses as far as the zone has them.
    fn refer(&mut self, node: &Node, cut: PlacedName<'_>) {
        let Some(servers) = node.set(RecordType::Ns.number()) else { return };
        let start = self.message.bytes;
        // What is delegated is not the zone's to sign; whether it is signed is.
        self.message.set(servers, cut.pointer(), Section::Authority, 0);
        if self.key().is_some() {
            match node.set(RecordType::Ds.number()) {
                Some(ds) => self.put(ds, cut, Section::Authority, 0),
                None => self.put_proof(cut, &[RecordType::Ns.number()]),
            }
        }
        // Each NS record has 12 bytes before its target. The owners of the addresses point to that target.
        let mut place = start;
        let zone = self.zone;
        for server in servers.rdata() {
            place += 12;
            let name = PlacedName { wire: server, place };
            place += server.len();
            // Only what is below the delegation is needed to follow it (RFC 9471).
            let is_below = suffix_of(server, cut.wire.len()).is_some_and(|suffix| suffix == cut.wire);
            let Some(glue) = zone.glue(server) else { continue };
            for record_type in [RecordType::A, RecordType::Aaaa] {
                let Some(set) = glue.set(record_type.number()) else { continue };
                if is_below {
                    self.message.set(set, name.pointer(), Section::Additional, 0);
                } else {
                    self.message.set_if_it_fits(set, name.pointer(), Section::Additional);
                }
            }
        }
    }
}

/// The one record that stands for all: of the type HINFO (RFC 8482 section 4.2).
static MINIMAL_ANY: LazyLock<RecordSet> = LazyLock::new(|| RecordSet::new(13, 3_600, &[b"\x07RFC8482\0"]));
