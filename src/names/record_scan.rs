//! Looks for records that a zone has at its name servers of before: names that are common, because a zone cannot be listed
//! from outside.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use dns::{Name, Rdata, RecordType};
use hickory_resolver::TokioResolver;
use hickory_resolver::proto::rr;
use model::{RecordId, ZoneId};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::resolver::{resolver_of, wire_of};

/// Most look-ups at once.
const MAX_LOOK_UPS: usize = 32;
/// How long a scan takes at most: clients wait a minute for an answer.
const LONGEST: Duration = Duration::from_secs(40);
/// Most zones that are looked for at once; others wait.
const MAX_SCANS: usize = 4;
/// Most records that are kept of a zone.
const MAX_RECORDS: usize = 1_000;

/// Names that hosts commonly have.
const HOSTS: &str = "@ admin api app assets auth autoconfig autodiscover beta blog calendar cdn chat ci cloud cpanel dashboard \
    demo dev direct docs download drive email forum ftp gateway git help home host images imap img intranet jobs \
    lists login m mail media meet mobile monitor mx mx1 mx2 my news ns1 ns2 office pop pop3 portal preview proxy \
    remote search secure server sftp shop sip smtp sso stage staging static stats status store support test \
    tools video vpn web webdisk webmail wiki www www2";
/// Names of texts.
const TEXTS: &str = "@ _dmarc _mta-sts _smtp._tls default._bimi default._domainkey dkim._domainkey google._domainkey \
    k1._domainkey k2._domainkey mail._domainkey s1._domainkey s2._domainkey selector1._domainkey \
    selector2._domainkey";
/// Names of services.
const SERVICES: &str = "_autodiscover._tcp _caldavs._tcp _carddavs._tcp _imaps._tcp _sip._tcp _sip._tls _sipfederationtls._tcp \
    _submission._tcp _xmpp-client._tcp _xmpp-server._tcp";
/// A label that no zone has but by a wildcard.
const UNLIKELY: &str = "svc-scan-for-wildcard-7f3a";

/// A record that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRecord {
    pub name: Name,
    /// Seconds.
    pub ttl: u32,
    pub rdata: Rdata,
}

/// Scans by zone. Clones share them.
#[derive(Clone)]
pub struct RecordScans {
    of_zones: Arc<Mutex<HashMap<ZoneId, ZoneScan>>>,
    permits: Arc<Semaphore>,
}

impl Default for RecordScans {
    fn default() -> Self {
        Self { of_zones: Arc::default(), permits: Arc::new(Semaphore::new(MAX_SCANS)) }
    }
}

#[derive(Default)]
struct ZoneScan {
    is_running: bool,
    /// Why the last one found nothing, if it could not look.
    failure: Option<String>,
    /// By the ids under which they are reviewed.
    found: BTreeMap<RecordId, FoundRecord>,
}

impl RecordScans {
    /// Begins a scan; `false` if one is running.
    pub fn begin(&self, zone: &ZoneId) -> bool {
        let mut scans = self.of_zones.lock();
        !std::mem::replace(&mut scans.entry(zone.clone()).or_default().is_running, true)
    }

    /// A scan has ended, with what it found or why it could not look.
    pub fn end(&self, zone: &ZoneId, outcome: Result<Vec<(RecordId, FoundRecord)>, String>) {
        let (found, failure) = match outcome {
            Ok(found) => (found, None),
            Err(reason) => (Vec::new(), Some(reason)),
        };
        let found = found.into_iter().take(MAX_RECORDS).collect();
        self.of_zones.lock().insert(zone.clone(), ZoneScan { is_running: false, failure, found });
    }

    /// Why the last scan of a zone could not look.
    pub fn failure(&self, zone: &ZoneId) -> Option<String> {
        self.of_zones.lock().get(zone).and_then(|scan| scan.failure.clone())
    }

    /// Whether a scan of a zone is running.
    pub fn is_running(&self, zone: &ZoneId) -> bool {
        self.of_zones.lock().get(zone).is_some_and(|scan| scan.is_running)
    }

    /// What waits for review.
    pub fn found(&self, zone: &ZoneId) -> Vec<(RecordId, FoundRecord)> {
        let scans = self.of_zones.lock();
        let found = scans.get(zone).into_iter().flat_map(|scan| &scan.found);
        found.map(|(id, record)| (*id, record.clone())).collect()
    }

    /// Takes what was reviewed away.
    pub fn reviewed(&self, zone: &ZoneId, ids: &[RecordId]) {
        if let Some(scan) = self.of_zones.lock().get_mut(zone) {
            scan.found.retain(|id, _| !ids.contains(id));
        }
    }
}

impl RecordScans {
    /// Looks for records of a zone when its turn comes, by asking resolvers, those of the system if none are given.
    ///
    /// # Errors
    /// If none of them answers.
    pub async fn scan(&self, apex: Name, resolvers: &[SocketAddr]) -> Result<Vec<FoundRecord>, String> {
        // INVARIANT: nobody closes it.
        let _permit = self.permits.acquire().await;
        scan(apex, resolvers).await
    }
}

async fn scan(apex: Name, resolvers: &[SocketAddr]) -> Result<Vec<FoundRecord>, String> {
    let resolver = resolver_of(resolvers).ok_or("the system names no resolvers; set `dns.resolvers`")?;
    // Whoever does not answer this does not answer hundreds of questions either.
    if let Err(error) = resolver.lookup(format!("{apex}."), rr::RecordType::NS).await
        && !error.is_no_records_found()
        && !error.is_nx_domain()
    {
        return Err(format!("the resolvers do not answer for `{apex}`: {error}"));
    }
    let wildcard = hosts(&resolver, &apex, UNLIKELY).await;
    let permits = Arc::new(Semaphore::new(MAX_LOOK_UPS));
    let mut look_ups = JoinSet::new();
    for (label, types) in questions() {
        let (resolver, apex, permits) = (resolver.clone(), apex.clone(), Arc::clone(&permits));
        look_ups.spawn(async move {
            // INVARIANT: nobody closes it.
            let _permit = permits.acquire_owned().await;
            let mut found = Vec::new();
            match types {
                [] => found = hosts(&resolver, &apex, label).await,
                types => {
                    for record_type in types {
                        found.extend(look_up(&resolver, &apex, label, *record_type).await);
                    }
                }
            }
            found
        });
    }
    let mut all = Vec::new();
    let gather = async {
        while let Some(outcome) = look_ups.join_next().await {
            all.extend(outcome.unwrap_or_default());
        }
    };
    // What was not answered by then is left out.
    let _ = tokio::time::timeout(LONGEST, gather).await;
    let data = |records: &[FoundRecord]| -> Vec<Rdata> {
        records.iter().map(|record| record.rdata.clone()).collect()
    };
    let of_wildcard = data(&wildcard);
    // What the wildcard answers for a name is not the name's own.
    all.retain(|record| record.name == apex || !of_wildcard.contains(&record.rdata));
    let star = apex.below(b"*");
    all.extend(wildcard.into_iter().filter_map(|record| Some(FoundRecord { name: star.clone()?, ..record })));
    all.sort_by(|one, other| (&one.name, one.rdata.wire()).cmp(&(&other.name, other.rdata.wire())));
    all.dedup();
    Ok(all)
}

/// Names and the types that are asked for them; none for those of hosts.
fn questions() -> impl Iterator<Item = (&'static str, &'static [RecordType])> {
    const AT_APEX: &[RecordType] = &[RecordType::Mx, RecordType::Caa];
    let hosts = HOSTS.split_ascii_whitespace().map(|label| (label, &[][..]));
    let texts = TEXTS.split_ascii_whitespace().map(|label| (label, &[RecordType::Txt][..]));
    let services = SERVICES.split_ascii_whitespace().map(|label| (label, &[RecordType::Srv][..]));
    hosts.chain(texts).chain(services).chain([("@", AT_APEX)])
}

/// The alias of a host, or its addresses.
async fn hosts(resolver: &TokioResolver, apex: &Name, label: &str) -> Vec<FoundRecord> {
    let alias = look_up(resolver, apex, label, RecordType::Cname).await;
    if !alias.is_empty() {
        return alias;
    }
    let mut addresses = look_up(resolver, apex, label, RecordType::A).await;
    addresses.extend(look_up(resolver, apex, label, RecordType::Aaaa).await);
    addresses
}

/// The records of a type at a name; none if nobody could say.
async fn look_up(
    resolver: &TokioResolver,
    apex: &Name,
    label: &str,
    record_type: RecordType,
) -> Vec<FoundRecord> {
    let Ok(name) = Name::parse(label, Some(apex)) else { return Vec::new() };
    let asked = rr::RecordType::from(record_type.number());
    let Ok(found) = resolver.lookup(format!("{name}."), asked).await else { return Vec::new() };
    let records = found.answers().iter().filter(|record| record.record_type() == asked);
    let own =
        records.filter(|record| Name::parse(&record.name.to_string(), None).is_ok_and(|owner| owner == name));
    own.filter_map(|record| {
        let rdata = Rdata::of_wire(record_type, &wire_of(record)?)?;
        Some(FoundRecord { name: name.clone(), ttl: record.ttl, rdata })
    })
    .collect()
}
