//! Records of zones to the sets that resolvers get.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::Compiling;
use super::zone_keys::{opened_key, opened_shared_key};
use crate::conf::DnsSettings;
use crate::snapshot::{FlattenedTarget, Follower, Names, ServedZone};
use diagnostic::{Code, Diagnostic};
use dns::answer::MAX_CHAIN;
use dns::dnssec::ZoneKey;
use dns::{DnsZone, Name, NodeRecords, Rdata, RecordType, Soa, TransferPolicy, ZoneKeys};
use imbl::OrdMap;
use ipnet::IpNet;
use model::dns_settings::{ZoneDnsSettings, ZoneMode};
use model::{
    Declared, DnsRecord, KeyRollover, Provenance, ReceivedAuthority, RolloverStage, Zone, ZoneDnssec, ZoneId,
    ZoneRecords,
};

impl Compiling<'_> {
    /// What name servers answer; nothing if none listens.
    pub(super) fn names(&mut self) -> Names {
        let conf = self.inputs.conf;
        if !conf.answers_queries() {
            return Names::default();
        }
        let https_record = conf.https_record();
        let previous = self.inputs.previous.map(|previous| &previous.names);
        let is_same = |names: &&Names| names.settings == conf.dns && names.https_record == https_record;
        let previous = previous.filter(is_same);
        let resources = self.inputs.resources;
        let mut flattened =
            self.inputs.previous.map(|known| known.names.flattened.clone()).unwrap_or_default();
        flattened.extend(self.inputs.found.iter().cloned());
        let mut names = match (previous, self.inputs.changed) {
            (Some(previous), Some(_)) => previous.clone(),
            _ => Names { settings: conf.dns.clone(), https_record, ..Names::default() },
        };
        names.flattened = flattened;
        let all: Vec<&ZoneId> = match (previous, self.inputs.changed) {
            (Some(_), Some(changed)) => changed.iter().collect(),
            _ => resources.zones.keys().collect(),
        };
        // What goes, goes first: another zone may have its name.
        for id in all.iter().filter(|id| !resources.zones.contains_key(**id)) {
            names.remove(id);
        }
        for id in all {
            let known = previous.and_then(|previous| previous.served.get(id));
            let Some(zone) = resources.zones.get(id) else { continue };
            match self.served(zone, known, &names) {
                Some(served) => {
                    names.catalog.insert(served.zone.apex().wire(), Arc::clone(&served.zone));
                    names.served.insert(id.clone(), Arc::new(served));
                }
                None => names.remove(id),
            }
        }
        names
    }

    /// A zone as it is served: that of before with what has changed, if its settings are the same.
    fn served(
        &mut self,
        zone: &Declared<Zone>,
        known: Option<&Arc<ServedZone>>,
        names: &Names,
    ) -> Option<ServedZone> {
        let (settings, dns) = (&zone.dns, &self.inputs.conf.dns);
        // INVARIANT: names of zones are host names.
        let apex = Name::parse(&zone.name, None).ok()?;
        if settings.zone_mode == ZoneMode::CdnOnly {
            return None;
        }
        let account = self.inputs.resources.accounts.get(&zone.account);
        let is_dns_only = settings.zone_mode == ZoneMode::DnsOnly
            || account.and_then(|account| account.dns.as_ref()).is_some_and(|dns| dns.enforce_dns_only);
        let records = self.inputs.resources.records.get(&zone.id).cloned().unwrap_or_default();
        let building = NodeBuilding {
            apex: &apex,
            records: &records,
            settings,
            dns,
            is_dns_only,
            https_record: names.https_record,
            flattened: &names.flattened,
            received: zone.incoming.as_deref().map(|incoming| incoming.received.as_ref()),
        };
        let name_servers = building.name_servers();
        let ns_ttl = building.ns_ttl();
        let revision = match zone.provenance {
            Provenance::Revision(revision) => revision.max(records.revision()),
            Provenance::File(_) => records.revision(),
        };
        let of_file = self.inputs.resources.name_service.as_ref().filter(|_| zone.is_handed_over());
        let revision = match of_file.map(|of_file| &of_file.provenance) {
            Some(Provenance::Revision(of_file)) => revision.max(*of_file),
            _ => revision,
        };
        let soa = building.soa(&name_servers, revision);
        let known = known.filter(|known| known.settings == *settings && known.is_dns_only == is_dns_only);
        let known = known.filter(|known| *known.zone.apex() == apex);
        let mut served = match known {
            Some(known) => DnsZone::clone(&known.zone),
            None => DnsZone::new(apex.clone(), &soa, &name_servers, ns_ttl),
        };
        let is_expired =
            building.received.is_some_and(|received| received.is_none_or(|received| received.is_expired));
        served.set_primaries(self.primaries(zone), is_expired);
        served.set_transfers(self.transfers(zone));
        let key = self.key(zone, known);
        served.set_keys(key.clone().map(|key| ZoneKeys {
            key,
            other: self.other_key(zone),
            announces_other:
                rollover(zone).is_some_and(|rollover| rollover.stage == RolloverStage::Announced),
            of_others: building.other_keys(zone.dnssec.as_deref()),
            uses_nsec3: zone.dnssec.as_deref().is_some_and(|dnssec| dnssec.uses_nsec3),
        }));
        let followers = self.set_nodes(&mut served, &building, known);
        // Last: what has changed is of this serial.
        served.set_authority(&soa, &name_servers, ns_ttl);
        let settings = settings.clone();
        let key = key.zip(zone.dnssec.clone()).map(|(key, source)| (key, *source));
        Some(ServedZone { zone: Arc::new(served), records, settings, is_dns_only, followers, key })
    }

    /// Puts the names of a zone, or those that have changed, and returns those that change with others.
    fn set_nodes(
        &self,
        served: &mut DnsZone,
        building: &NodeBuilding<'_>,
        known: Option<&Arc<ServedZone>>,
    ) -> Vec<Follower> {
        match known {
            Some(known) => {
                let changed: BTreeSet<&Name> =
                    building.records.changed_names(&known.records).into_iter().collect();
                let kept = known.followers.iter().filter(|follower| !changed.contains(&follower.name));
                // Where a name leads may have changed with another.
                let names = kept.map(|follower| &follower.name).chain(changed.iter().copied());
                let followers: Vec<Follower> = names.filter_map(|name| building.follower(name)).collect();
                let is_moved = !changed.is_empty() || !self.inputs.found.is_empty();
                let others = followers.iter().filter(|_| is_moved).map(|follower| &follower.name);
                for name in changed.iter().copied().chain(others) {
                    served.set(&building.node(name));
                }
                followers
            }
            None => {
                let (mut last, mut followers) = (None, Vec::new());
                for record in
                    building.records.iter().filter(|record| last.replace(&record.name) != Some(&record.name))
                {
                    served.set(&building.node(&record.name));
                    followers.extend(building.follower(&record.name));
                }
                followers
            }
        }
    }

    /// Who may have a zone whole; `None` if nobody may.
    fn transfers(&mut self, zone: &Declared<Zone>) -> Option<Arc<TransferPolicy>> {
        let outgoing = zone.outgoing.as_deref().filter(|outgoing| outgoing.is_enabled)?;
        self.policy(zone, &outgoing.peers)
    }

    /// Who may say that a zone has changed; `None` if it is made here.
    fn primaries(&mut self, zone: &Declared<Zone>) -> Option<Arc<TransferPolicy>> {
        let incoming = zone.incoming.as_deref()?;
        self.policy(zone, &incoming.peers)
    }

    /// The addresses and keys of peers of a zone.
    fn policy(&mut self, zone: &Declared<Zone>, peers: &[String]) -> Option<Arc<TransferPolicy>> {
        let account = self.inputs.resources.accounts.get(&zone.account)?;
        let partners = account.transfers.as_deref()?;
        let mut policy = TransferPolicy::default();
        let mut is_keyed = false;
        for peer in peers.iter().filter_map(|id| partners.peer(id)) {
            let networks = peer.ip.map(IpNet::from);
            policy.signed.extend(networks);
            let Some(key) = peer.tsig_id.as_deref().and_then(|id| partners.key(id)) else {
                policy.unsigned.extend(networks);
                continue;
            };
            is_keyed = true;
            match opened_shared_key(&account.id, key, self.inputs.conf.secrets_key.as_ref()) {
                Ok(key) if policy.keys.contains(&key) => {}
                Ok(key) => policy.keys.push(key),
                Err(message) => self.diagnostics.push(Diagnostic::error(Code::ConfBadValue, message)),
            }
        }
        let networks = partners.acls.iter().map(|acl| acl.ip_range);
        policy.signed.extend(networks.clone());
        // Without a key nobody could show that it is a peer.
        policy.unsigned.extend(networks.filter(|_| !is_keyed));
        Some(Arc::new(policy))
    }

    /// The key that a zone is signed with; that of before if it is the same.
    fn key(&mut self, zone: &Declared<Zone>, known: Option<&Arc<ServedZone>>) -> Option<Arc<ZoneKey>> {
        let dnssec = zone.dnssec.as_deref().filter(|dnssec| dnssec.is_active)?;
        let known = known.and_then(|known| known.key.as_ref()).filter(|(_, source)| source.key == dnssec.key);
        if let Some((key, _)) = known {
            return Some(Arc::clone(key));
        }
        self.opened_key(zone, &dnssec.key, dnssec.is_sealed)
    }

    /// The key that comes or goes while the key of a zone is changed.
    fn other_key(&mut self, zone: &Declared<Zone>) -> Option<Arc<ZoneKey>> {
        let rollover = rollover(zone)?;
        self.opened_key(zone, &rollover.key, rollover.is_sealed)
    }

    fn opened_key(&mut self, zone: &Declared<Zone>, key: &str, is_sealed: bool) -> Option<Arc<ZoneKey>> {
        match opened_key(zone, key, is_sealed, self.inputs.conf.secrets_key.as_ref()) {
            Ok(key) => Some(Arc::new(key)),
            Err(message) => {
                let message = format!("the zone `{}` cannot be signed: {message}", zone.name);
                self.diagnostics.push(Diagnostic::error(Code::ConfBadValue, message));
                None
            }
        }
    }
}

fn rollover(zone: &Zone) -> Option<&KeyRollover> {
    zone.dnssec.as_deref().and_then(|dnssec| dnssec.rollover.as_ref())
}

/// What the sets of a zone's names are made of.
struct NodeBuilding<'r> {
    apex: &'r Name,
    records: &'r ZoneRecords,
    settings: &'r ZoneDnsSettings,
    dns: &'r DnsSettings,
    /// Whether nothing is proxied.
    is_dns_only: bool,
    /// What proxied names say of HTTPS, if anything.
    https_record: Option<&'static str>,
    /// What is known of names elsewhere.
    flattened: &'r OrdMap<Name, FlattenedTarget>,
    /// If it comes from others: what came of its authority.
    received: Option<Option<&'r ReceivedAuthority>>,
}

impl<'r> NodeBuilding<'r> {
    fn name_servers(&self) -> Vec<Name> {
        let own = self.name_server_records().filter_map(|record| record.rdata.target());
        if self.received.is_some() {
            return own.collect();
        }
        let mut names = self.dns.name_servers.of_zone(self.settings);
        if self.settings.multi_provider {
            names.extend(own);
        }
        names
    }

    fn name_server_records(&self) -> impl Iterator<Item = &'r Arc<Declared<DnsRecord>>> {
        self.records.at(self.apex).filter(|record| record.rdata.record_type() == RecordType::Ns)
    }

    fn ns_ttl(&self) -> u32 {
        let received = self.received.and_then(|_| self.name_server_records().map(|record| record.ttl).min());
        received.unwrap_or(self.settings.ns_ttl)
    }

    /// DNSKEY records of the zone, if others sign it too.
    fn other_keys(&self, dnssec: Option<&ZoneDnssec>) -> Vec<&'r [u8]> {
        if !dnssec.is_some_and(|dnssec| dnssec.multi_signer) {
            return Vec::new();
        }
        let own =
            self.records.at(self.apex).filter(|record| record.rdata.record_type() == RecordType::Dnskey);
        own.map(|record| record.rdata.wire()).collect()
    }

    fn soa(&self, name_servers: &[Name], revision: u64) -> Soa {
        if let Some(Some(received)) = self.received {
            return received.soa.clone();
        }
        let soa = &self.settings.soa;
        let name = |text: Option<&String>| text.and_then(|text| Name::parse(text, None).ok());
        let primary = name(soa.mname.as_ref()).or_else(|| name_servers.first().cloned());
        let mailbox = name(soa.rname.as_ref()).or_else(|| self.apex.below(b"hostmaster"));
        Soa {
            primary: primary.unwrap_or_else(|| self.apex.clone()),
            mailbox: mailbox.unwrap_or_else(|| self.apex.clone()),
            // Serials are compared modulo 2^32 (RFC 1982).
            serial: (revision & u64::from(u32::MAX)) as u32,
            refresh: soa.refresh,
            retry: soa.retry,
            expire: soa.expire,
            minimum: soa.min_ttl,
            ttl: soa.ttl,
        }
    }

    /// A name that has the addresses of another, and where that is; `None` if it has its own.
    fn follower(&self, name: &Name) -> Option<Follower> {
        let alias = self.records.at(name).find(|record| self.is_flattened(record))?;
        let mut target = alias.rdata.target()?;
        for _ in 0..MAX_CHAIN {
            if !target.is_within(self.apex) {
                return Some(Follower { name: name.clone(), external: Some(target) });
            }
            let next =
                self.records.at(&target).find(|record| record.rdata.record_type() == RecordType::Cname);
            let next =
                next.filter(|record| !self.is_proxied(record)).and_then(|record| record.rdata.target());
            match next {
                Some(next) => target = next,
                None => break,
            }
        }
        Some(Follower { name: name.clone(), external: None })
    }

    fn is_proxied(&self, record: &DnsRecord) -> bool {
        record.proxied && !self.is_dns_only
    }

    /// Whether a record is answered with the addresses that it leads to.
    fn is_flattened(&self, record: &DnsRecord) -> bool {
        record.rdata.record_type() == RecordType::Cname
            && !self.is_proxied(record)
            && (record.name == *self.apex
                || self.settings.flatten_all_cnames
                || record.settings.flatten_cname == Some(true))
    }

    /// The records of a name, as resolvers get them.
    fn node<'n>(&self, name: &'n Name) -> NodeRecords<'n>
    where
        'r: 'n,
    {
        let mut node = NodeRecords { name, records: Vec::new() };
        let records: Vec<&'r Arc<Declared<DnsRecord>>> = self.records.at(name).collect();
        let mut proxied = None;
        for record in records {
            let record_type = record.rdata.record_type();
            if record_type == RecordType::Ns && name == self.apex {
                continue;
            }
            if record_type.is_proxiable() && self.is_proxied(record) {
                proxied = Some(record);
                continue;
            }
            if self.is_flattened(record) {
                let mut addresses = Vec::new();
                let ttl = self.addresses_of(&record.rdata, record.effective_ttl(), MAX_CHAIN, &mut addresses);
                node.records.extend(addresses.into_iter().map(|address| (ttl, Cow::Owned(address))));
                // Until its addresses are known the alias is for the resolver to follow; at the apex it cannot be.
                if !node.records.is_empty() || name == self.apex {
                    continue;
                }
            }
            node.records.push((record.effective_ttl(), Cow::Borrowed(&record.rdata)));
        }
        if let Some(record) = proxied {
            // If one is proxied, all addresses are the edge's.
            node.records.retain(|(_, rdata)| !rdata.record_type().is_proxiable());
            let edge =
                self.edge_addresses(record).map(|address| (DnsRecord::CHOSEN_TTL, Cow::Owned(address)));
            node.records.extend(edge);
            let has_https = node.records.iter().any(|(_, rdata)| rdata.record_type() == RecordType::Https);
            if let Some(text) = self.https_record.filter(|_| !has_https) {
                let https = Rdata::parse(RecordType::Https, text, None).ok();
                node.records.extend(https.map(|https| (DnsRecord::CHOSEN_TTL, Cow::Owned(https))));
            }
        }
        node
    }

    fn edge_addresses(&self, record: &DnsRecord) -> impl Iterator<Item = Rdata> {
        let (v4_only, v6_only) =
            (record.settings.ipv4_only == Some(true), record.settings.ipv6_only == Some(true));
        let wanted =
            self.dns.addresses.iter().filter(move |address| {
                if address.is_ipv4() { !v6_only || v4_only } else { !v4_only || v6_only }
            });
        wanted.map(|address| Rdata::of_address(*address))
    }

    /// Adds the addresses that data leads to, and returns the lowest TTL on the way.
    fn addresses_of(&self, rdata: &Rdata, ttl: u32, steps: usize, addresses: &mut Vec<Rdata>) -> u32 {
        let Some(target) = rdata.target().filter(|_| steps > 0) else { return ttl };
        if !target.is_within(self.apex) {
            let Some(found) = self.flattened.get(&target) else { return ttl };
            addresses.extend(found.addresses.iter().map(|address| Rdata::of_address(*address)));
            return ttl.min(found.ttl);
        }
        let mut lowest = ttl;
        for record in self.records.at(&target) {
            let ttl = ttl.min(record.effective_ttl());
            match record.rdata.record_type() {
                kind if kind.is_proxiable() && self.is_proxied(record) => {
                    addresses.extend(self.edge_addresses(record));
                }
                RecordType::A | RecordType::Aaaa => addresses.push(record.rdata.clone()),
                RecordType::Cname => {
                    lowest = lowest.min(self.addresses_of(&record.rdata, ttl, steps - 1, addresses));
                }
                _ => continue,
            }
            lowest = lowest.min(ttl);
        }
        lowest
    }
}
