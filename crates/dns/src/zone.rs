//! A zone as it is answered from: names with sets of records whose bytes are ready, and what the zone is itself.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::denial::{self, NSEC3PARAM};
use crate::dnssec::{self, ZoneKey};
use crate::journal::{Journal, NodeChange, serial_of};
use crate::name::{Name, above, is_wildcard, labels_of, suffix_of};
use crate::rdata::Rdata;
use crate::record_set::RecordSet;
use crate::record_type::RecordType;
use crate::transfer_policy::TransferPolicy;
use crate::wire_map::WireMap;

/// Types that zones have beside those of records.
pub(crate) const SOA: u16 = 6;

/// Seconds that resolvers keep the keys of a zone.
pub const KEY_TTL: u32 = 3_600;

/// The start of authority of a zone (RFC 1035 section 3.3.13).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Soa {
    /// The primary name server.
    pub primary: Name,
    /// The mail address, its `@` a dot.
    pub mailbox: Name,
    pub serial: u32,
    /// Seconds, as the others.
    pub refresh: u32,
    pub retry: u32,
    pub expire: u32,
    /// How long negative answers are kept (RFC 2308).
    pub minimum: u32,
    /// Of the record itself.
    pub ttl: u32,
}

/// The records of one name.
#[derive(Clone, Debug)]
pub struct NodeRecords<'r> {
    pub name: &'r Name,
    /// Each with its TTL. Those of one type have the lowest of theirs (RFC 2181 section 5.2).
    pub records: Vec<(u32, Cow<'r, Rdata>)>,
}

/// A name of a zone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    sets: Arc<[RecordSet]>,
    /// How many names that exist are one label below it.
    below: u32,
}

impl Node {
    pub(crate) fn set(&self, record_type: u16) -> Option<&RecordSet> {
        self.sets.iter().find(|set| set.record_type == record_type)
    }

    pub(crate) fn sets(&self) -> &[RecordSet] {
        &self.sets
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.set(RecordType::Ns.number()).is_some()
    }
}

/// The keys of a zone.
#[derive(Clone, Debug)]
pub struct ZoneKeys<'k> {
    /// What everything is signed with.
    pub key: Arc<ZoneKey>,
    /// The key that takes its place, or whose place it took: it signs the keys, too, so that they are trusted by either.
    pub other: Option<Arc<ZoneKey>>,
    /// Whether CDS and CDNSKEY records ask the parent zone for the DS record of the other key.
    pub announces_other: bool,
    /// DNSKEY data of others that sign the zone, too.
    pub of_others: Vec<&'k [u8]>,
    /// Whether denials name hashes of names (NSEC3), not names (NSEC).
    pub uses_nsec3: bool,
}

/// What a signed zone has beside its records.
#[derive(Debug)]
struct Signing {
    key: Arc<ZoneKey>,
    /// Signs the keys, too.
    other: Option<Arc<ZoneKey>>,
    /// DNSKEY, CDS, CDNSKEY and NSEC3PARAM records.
    sets: Vec<RecordSet>,
    uses_nsec3: bool,
}

/// A zone. A copy shares what it does not change.
#[derive(Clone, Debug)]
pub struct DnsZone {
    apex: Name,
    /// By their names without the apex.
    nodes: WireMap<Node>,
    soa: Arc<RecordSet>,
    /// The same record with the TTL of negative answers.
    pub(crate) negative_soa: Arc<RecordSet>,
    name_servers: Arc<RecordSet>,
    signing: Option<Arc<Signing>>,
    /// Who may have it whole.
    transfers: Option<Arc<TransferPolicy>>,
    /// Who it comes from, if it is not made here.
    primaries: Option<Arc<TransferPolicy>>,
    /// Whether it cannot be answered from: it has not come yet, or its primaries have not answered for too long.
    is_expired: bool,
    /// Its last changes, if somebody may have it.
    journal: Option<Journal>,
    /// Names that are delegated; without any no name is looked at for one.
    cuts: usize,
    wildcards: usize,
    /// Most labels of a name, without the apex's. It never falls.
    depth: usize,
}

impl DnsZone {
    /// A zone without records but its own.
    pub fn new(apex: Name, soa: &Soa, name_servers: &[Name], ns_ttl: u32) -> Self {
        let [soa, negative_soa] = soa_sets(soa);
        let mut zone = Self {
            apex,
            nodes: WireMap::default(),
            soa,
            negative_soa,
            name_servers: name_server_set(name_servers, ns_ttl),
            signing: None,
            transfers: None,
            primaries: None,
            is_expired: false,
            journal: None,
            cuts: 0,
            wildcards: 0,
            depth: 0,
        };
        zone.nodes.insert(&[], Node::default());
        zone
    }

    /// Gives it another start of authority and other name servers. What changed before is of this serial.
    pub fn set_authority(&mut self, soa: &Soa, name_servers: &[Name], ns_ttl: u32) {
        let before = Arc::clone(&self.soa);
        [self.soa, self.negative_soa] = soa_sets(soa);
        let name_servers = name_server_set(name_servers, ns_ttl);
        if name_servers.wire != self.name_servers.wire {
            self.journal = self.journal.take().map(|_| Journal::default());
        } else if let Some(journal) = self.journal.as_mut().filter(|_| before.wire != self.soa.wire) {
            journal.close(&before, &self.soa);
        }
        self.name_servers = name_servers;
    }

    /// Says who may have it whole.
    pub fn set_transfers(&mut self, policy: Option<Arc<TransferPolicy>>) {
        self.journal = policy.as_ref().map(|_| self.journal.take().unwrap_or_default());
        self.transfers = policy;
    }

    /// Says who it comes from, and whether it can be answered from.
    pub fn set_primaries(&mut self, primaries: Option<Arc<TransferPolicy>>, is_expired: bool) {
        (self.primaries, self.is_expired) = (primaries, is_expired);
    }

    pub fn primaries(&self) -> Option<&Arc<TransferPolicy>> {
        self.primaries.as_ref()
    }

    pub(crate) fn is_expired(&self) -> bool {
        self.is_expired
    }

    pub fn transfers(&self) -> Option<&Arc<TransferPolicy>> {
        self.transfers.as_ref()
    }

    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    pub(crate) fn soa(&self) -> &RecordSet {
        &self.soa
    }

    /// The serial of its start of authority.
    pub fn serial(&self) -> u32 {
        serial_of(&self.soa).unwrap_or(0)
    }

    /// Sets at the apex that are the zone's own, but the start of authority.
    pub(crate) fn own_sets(&self) -> impl Iterator<Item = &RecordSet> {
        std::iter::once(&*self.name_servers).filter(|set| set.count > 0)
    }

    /// Names without the apex, with what is at them.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (&[u8], &Node)> {
        self.nodes.iter()
    }

    /// Signs the zone with keys, or with none.
    pub fn set_keys(&mut self, keys: Option<ZoneKeys<'_>>) {
        self.signing = keys.map(|ZoneKeys { key, other, announces_other, of_others, uses_nsec3 }| {
            let mut shown = of_others;
            shown.push(key.dnskey());
            shown.extend(other.as_ref().map(|other| other.dnskey()));
            shown.sort_unstable();
            shown.dedup();
            let announced = other.as_ref().filter(|_| announces_other).unwrap_or(&key);
            let ds = announced.ds(&self.apex);
            let mut sets = vec![
                RecordSet::new(dnssec::DNSKEY, KEY_TTL, &shown),
                RecordSet::new(dnssec::CDS, KEY_TTL, &[&ds]),
                RecordSet::new(dnssec::CDNSKEY, KEY_TTL, &[announced.dnskey()]),
            ];
            let uses_nsec3 = uses_nsec3 && denial::takes_hashes(&self.apex);
            sets.extend(uses_nsec3.then(|| RecordSet::new(NSEC3PARAM, KEY_TTL, &[&denial::HASHING])));
            Arc::new(Signing { key, other, sets, uses_nsec3 })
        });
    }

    /// What everything is signed with, and the key that comes or goes.
    pub fn keys(&self) -> (Option<&ZoneKey>, Option<&ZoneKey>) {
        let signing = self.signing.as_deref();
        (self.key_pair(), signing.and_then(|signing| signing.other.as_deref()))
    }

    /// The key that signs sets of a type beside the first, if there is one.
    pub(crate) fn other_key(&self, record_type: u16) -> Option<&ZoneKey> {
        let signs = matches!(record_type, dnssec::DNSKEY | dnssec::CDS | dnssec::CDNSKEY);
        self.signing.as_deref().and_then(|signing| signing.other.as_deref()).filter(|_| signs)
    }

    /// Whether denials name hashes of names.
    pub(crate) fn uses_nsec3(&self) -> bool {
        self.signing.as_deref().is_some_and(|signing| signing.uses_nsec3)
    }

    /// Types of the sets that a signed zone has at its apex beside its records.
    pub(crate) fn signing_types(&self) -> impl Iterator<Item = u16> {
        self.signing.iter().flat_map(|signing| &signing.sets).map(|set| set.record_type)
    }

    pub(crate) fn key_pair(&self) -> Option<&ZoneKey> {
        self.signing.as_deref().map(|signing| &*signing.key)
    }

    /// Sets at the apex that are the zone's own.
    pub(crate) fn own_set(&self, record_type: u16) -> Option<&RecordSet> {
        match record_type {
            SOA => Some(&self.soa),
            2 => Some(&*self.name_servers).filter(|set| set.count > 0),
            _ => {
                let sets = self.signing.iter().flat_map(|signing| &signing.sets);
                sets.into_iter().find(|set| set.record_type == record_type)
            }
        }
    }

    pub fn apex(&self) -> &Name {
        &self.apex
    }

    /// How many names exist, also those that only have names below them.
    pub fn names(&self) -> usize {
        self.nodes.len()
    }

    /// Puts the records of a name in the place of those that it had. Names outside the zone are passed over.
    pub fn set(&mut self, node: &NodeRecords<'_>) {
        let Some(key) = self.key(node.name.wire()).map(SmallVec::<[u8; 64]>::from_slice) else { return };
        let sets = sets_of(&node.records);
        let before = self.nodes.get(&key).cloned();
        let is_new = before.is_none();
        let before = before.unwrap_or_default();
        let node_after = Node { sets, below: before.below };
        let is_wildcard = is_wildcard(&key);
        if let Some(journal) = &mut self.journal {
            let (before, after) = (Arc::clone(&before.sets), Arc::clone(&node_after.sets));
            journal.push(NodeChange { key: key.as_slice().into(), before, after });
        }
        let has_cut = |node: &Node| usize::from(!key.is_empty() && node.is_cut());
        self.cuts = self.cuts + has_cut(&node_after) - has_cut(&before);
        let is_empty = node_after.sets.is_empty() && node_after.below == 0 && !key.is_empty();
        if is_empty {
            if self.nodes.remove(&key).is_some() {
                self.wildcards -= usize::from(is_wildcard);
                self.count_below(&key, false);
            }
            return;
        }
        self.nodes.insert(&key, node_after);
        if is_new {
            self.wildcards += usize::from(is_wildcard);
            self.depth = self.depth.max(labels_of(&key).count());
            self.count_below(&key, true);
        }
    }

    /// Counts a name that came or went at the name above it, which comes or goes with it if it has nothing of its own.
    fn count_below(&mut self, key: &[u8], is_added: bool) {
        for above in std::iter::successors(above(key), |name| above(name)) {
            let known = self.nodes.get(above).cloned();
            let is_new = known.is_none();
            let mut node = known.unwrap_or_default();
            node.below = if is_added { node.below + 1 } else { node.below.saturating_sub(1) };
            let is_gone = node.below == 0 && node.sets.is_empty() && !above.is_empty();
            if is_gone {
                self.nodes.remove(above);
            } else {
                self.nodes.insert(above, node);
            }
            let goes_on = is_gone || is_new && is_added;
            if !goes_on {
                return;
            }
        }
    }

    /// A name without the apex; `None` if it is not in the zone.
    pub(crate) fn key<'n>(&self, name: &'n [u8]) -> Option<&'n [u8]> {
        let apex = self.apex.wire();
        suffix_of(name, apex.len()).filter(|suffix| *suffix == apex)?;
        name.get(..name.len() - apex.len())
    }

    pub(crate) fn node(&self, key: &[u8]) -> Option<&Node> {
        self.nodes.get(key)
    }

    /// Looks for a name, without the apex.
    pub(crate) fn find<'z, 'k>(&'z self, key: &'k [u8]) -> Found<'z, 'k> {
        if let Some(cut) = self.cut_above(key) {
            return cut;
        }
        if let Some(node) = self.node(key) {
            return Found::Node(node);
        }
        // Names below the deepest do not exist; they are not looked for one by one.
        let skipped = labels_of(key).count().saturating_sub(self.depth).max(1) - 1;
        let mut enclosers = std::iter::successors(above(key), |name| above(name)).skip(skipped);
        let encloser = enclosers.find(|encloser| self.node(encloser).is_some()).unwrap_or(&[]);
        if self.wildcards > 0 {
            let mut wildcard = SmallVec::<[u8; 256]>::from_slice(&[1, b'*']);
            wildcard.extend_from_slice(encloser);
            if let Some(node) = self.node(&wildcard) {
                return Found::Wildcard(node);
            }
        }
        Found::Nothing
    }

    /// The delegation that a name is at or below, the topmost.
    fn cut_above<'z, 'k>(&'z self, key: &'k [u8]) -> Option<Found<'z, 'k>> {
        if self.cuts == 0 {
            return None;
        }
        let names: SmallVec<[&[u8]; 8]> =
            std::iter::successors(Some(key), |name| above(name)).filter(|name| !name.is_empty()).collect();
        names.into_iter().rev().take(self.depth).find_map(|key| {
            let node = self.node(key).filter(|node| node.is_cut())?;
            Some(Found::Cut(key, node))
        })
    }

    /// The addresses that the zone has for a name, also below delegations, for the additional section.
    pub(crate) fn glue(&self, name: &[u8]) -> Option<&Node> {
        self.node(self.key(name)?)
    }
}

/// What is at a name.
#[derive(Debug)]
pub(crate) enum Found<'z, 'k> {
    Node(&'z Node),
    /// The wildcard that stands for the name.
    Wildcard(&'z Node),
    /// A delegation of the name or one above it, with its name.
    Cut(&'k [u8], &'z Node),
    Nothing,
}

fn sets_of(records: &[(u32, Cow<'_, Rdata>)]) -> Arc<[RecordSet]> {
    let mut sorted: SmallVec<[&(u32, Cow<'_, Rdata>); 8]> = records.iter().collect();
    sorted.sort_by_key(|(_, rdata)| rdata.record_type().number());
    sorted
        .chunk_by(|(_, one), (_, other)| one.record_type() == other.record_type())
        .filter_map(|records| {
            let record_type = records.first()?.1.record_type().number();
            let ttl = records.iter().map(|(ttl, _)| *ttl).min()?;
            let mut rdata: SmallVec<[&[u8]; 8]> = records.iter().map(|(_, rdata)| rdata.wire()).collect();
            // What stands there twice is one record (RFC 2181 section 5).
            rdata.sort_unstable();
            rdata.dedup();
            Some(RecordSet::new(record_type, ttl, &rdata))
        })
        .collect()
}

impl Soa {
    /// Its data in wire form.
    pub(crate) fn rdata(&self) -> Vec<u8> {
        let mut rdata = [self.primary.wire(), self.mailbox.wire()].concat();
        for number in [self.serial, self.refresh, self.retry, self.expire, self.minimum] {
            rdata.extend(number.to_be_bytes());
        }
        rdata
    }
}

fn soa_sets(soa: &Soa) -> [Arc<RecordSet>; 2] {
    let rdata = soa.rdata();
    [soa.ttl, soa.ttl.min(soa.minimum)].map(|ttl| Arc::new(RecordSet::new(SOA, ttl, &[&rdata])))
}

fn name_server_set(names: &[Name], ttl: u32) -> Arc<RecordSet> {
    let rdata: Vec<&[u8]> = names.iter().map(Name::wire).collect();
    Arc::new(RecordSet::new(RecordType::Ns.number(), ttl, &rdata))
}
