//! Where the planes meet: one immutable value, made by the control plane, loaded once for each
//! request by the data plane.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use dns::dnssec::ZoneKey;
use dns::{Catalog, DnsZone, Name};
use http::HeaderName;
use imbl::OrdMap;
use imbl::ordmap::DiffItem;
use ipnet::IpNet;

use crate::ai::{Gateways, Provider};
use crate::certificates::by_name::ServedCertificate;
use crate::certificates::{Certificates, CertificatesByName};
use crate::conf::{
    CertificateSettings, ChallengeSettings, DeprecationCalendar, DnsSettings, Limits, MailSettings,
    UpstreamSettings,
};
use crate::geo::GeoDatabases;
use crate::routing::{CustomHostnames, HostnameSite, Hosts};
use crate::ruleset::{EntryPoints, ManagedRuleset};
use crate::upstream::{Origin, OriginKey, Pool};
use expression::{Expression, NamedSet, NamedSets};
use model::certificate_pack::{TlsSettings, TlsVersion};
use model::dns_settings::ZoneDnsSettings;
use model::route::RouteOrigin;
use model::ruleset::Ruleset;
use model::zone::ZoneTls;
use model::{
    AccountId, CustomHostname, Declared, NamedList, Resources, Zone, ZoneDnssec, ZoneId, ZoneRecords,
};

/// Everything a request is judged and routed by.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Counts published snapshots from 1.
    pub revision: u64,
    pub limits: Limits,
    pub upstream: UpstreamSettings,
    pub challenges: ChallengeSettings,
    pub dns: DnsSettings,
    pub trusted_proxies: Vec<IpNet>,
    /// Where addresses are.
    pub geo: Arc<GeoDatabases>,
    pub sites: Hosts<Site>,
    /// What name servers answer from.
    pub names: Names,
    pub gateways: Gateways,
    /// Headers that may carry a gateway token, in order of preference.
    pub token_headers: Vec<HeaderName>,
    pub managed: Vec<Arc<ManagedRuleset>>,
    /// Named lists, by their ids.
    pub lists: BTreeMap<String, CompiledList>,
    /// Certificates of each TLS listener, by its configured address.
    pub certificates: HashMap<SocketAddr, Certificates>,
    /// Names of customers' customers.
    pub hostnames: CustomHostnames,
    /// Certificates of the store, for all TLS listeners.
    pub certificates_by_name: CertificatesByName,
    pub certificate_settings: Arc<CertificateSettings>,
    /// What ends, and how it is served.
    pub deprecations: Arc<DeprecationCalendar>,
    /// How mails are sent; `None` if none are.
    pub mail: Option<Arc<MailSettings>>,
    /// Everything that is declared, which all of this is made of.
    pub resources: Arc<Resources>,
    /// When the configuration was last changed (RFC 3339).
    pub modified: String,
    /// How many rules the loaded rule set has.
    pub rules: usize,
}

/// What name servers answer from.
#[derive(Clone, Debug, Default)]
pub struct Names {
    pub catalog: Catalog,
    /// What its zones were made of.
    pub served: OrdMap<ZoneId, Arc<ServedZone>>,
    /// Addresses of names elsewhere that names of zones have.
    pub flattened: OrdMap<Name, FlattenedTarget>,
    /// What all of it was made by.
    pub settings: DnsSettings,
    /// The HTTPS record of proxied names (RFC 9460), if the edge speaks more than HTTP/1.
    pub https_record: Option<&'static str>,
}

impl Names {
    /// Serves a zone no more.
    pub fn remove(&mut self, id: &ZoneId) {
        if let Some(gone) = self.served.remove(id) {
            self.catalog.remove(gone.zone.apex().wire());
        }
    }
}

/// What a resolver said of a name elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlattenedTarget {
    /// Sorted; none if the name has none.
    pub addresses: Vec<IpAddr>,
    /// Seconds.
    pub ttl: u32,
}

/// A name that has the addresses of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follower {
    pub name: Name,
    /// The name elsewhere that it leads to, if it leaves the zone.
    pub external: Option<Name>,
}

/// A zone as resolvers see it, and what it was made of.
#[derive(Debug)]
pub struct ServedZone {
    pub zone: Arc<DnsZone>,
    pub records: ZoneRecords,
    pub settings: ZoneDnsSettings,
    pub is_dns_only: bool,
    /// Names that change with others.
    pub followers: Vec<Follower>,
    /// What it is signed with, and what that was read from.
    pub key: Option<(Arc<ZoneKey>, ZoneDnssec)>,
}

/// A named list, compiled.
#[derive(Clone, Debug)]
pub struct CompiledList {
    pub set: NamedSet,
    /// What it was compiled from.
    pub source: Arc<Declared<NamedList>>,
}

/// What stands behind a host name.
#[derive(Clone, Debug)]
pub enum Site {
    Zone(Arc<CompiledZone>),
    Gateway,
    /// Queries of resolvers over HTTPS.
    Names,
}

/// A zone, compiled.
#[derive(Debug)]
pub struct CompiledZone {
    pub id: ZoneId,
    pub name: String,
    pub pool: Arc<Pool>,
    /// Origins that rules name in place of those.
    pub routes: BTreeMap<RouteOrigin, Arc<Pool>>,
    pub entry_points: EntryPoints,
    /// Requests that need a name and a password.
    pub password_guards: Vec<PasswordGuard>,
    /// Services that are asked about requests.
    pub auth_services: Vec<AuthService>,
    /// Whether a rule may answer with a challenge.
    pub challenges: bool,
    /// Block lists in the DNS that rules ask whether they name the client.
    pub block_lists: Vec<Arc<str>>,
    /// Whether rules of the response phases run.
    pub response_rules: bool,
    /// The entry point rulesets it was compiled from, as the API shows them.
    pub rulesets: Vec<Ruleset>,
    /// What it was compiled from.
    pub source: Arc<Declared<Zone>>,
    /// The entry points that were not written with it.
    pub stored: Vec<Arc<Declared<Ruleset>>>,
}

/// Requests of a zone that need a name and a password.
#[derive(Debug)]
pub struct PasswordGuard {
    pub expression: Expression,
    pub realm: String,
    /// Hashes by names.
    pub users: BTreeMap<String, String>,
}

/// A service that is asked whether requests may go on.
#[derive(Debug)]
pub struct AuthService {
    pub expression: Expression,
    pub origin: Arc<Origin>,
    /// Path and query.
    pub target: String,
    pub copy_headers: Vec<HeaderName>,
    pub timeout: Duration,
}

/// What a host is.
#[derive(Debug)]
pub enum HostRoute<'s> {
    /// A name of a site. It is shadowed if a wildcard of a custom hostname stands for it too.
    Site {
        site: &'s Site,
        is_shadowed: bool,
    },
    /// A custom hostname that this zone serves.
    Hostname {
        hostname: &'s HostnameSite,
        zone: &'s Arc<CompiledZone>,
    },
    /// A custom hostname that is not verified.
    Unverified,
    Unknown,
}

impl Snapshot {
    /// What a host is: a custom hostname, then a name of a zone, then what a wildcard of a custom hostname stands for.
    pub fn route<'s>(&'s self, host: &str) -> HostRoute<'s> {
        if self.hostnames.is_empty() {
            let site = self.sites.find(host);
            return site.map_or(HostRoute::Unknown, |site| HostRoute::Site { site, is_shadowed: false });
        }
        let served_by = |hostname: &'s HostnameSite| match self.sites.get(&hostname.zone) {
            Some(Site::Zone(zone)) => Some(HostRoute::Hostname { hostname, zone }),
            _ => None,
        };
        // Hosts of our own are nobody else's.
        if let Some(site @ (Site::Gateway | Site::Names)) = self.sites.get(host) {
            return HostRoute::Site { site, is_shadowed: false };
        }
        let exact = self.hostnames.exact(host);
        if let Some(route) = exact.filter(|exact| exact.is_served()).and_then(served_by) {
            return route;
        }
        let wildcard = self.hostnames.wildcard(host);
        match (self.sites.find(host), wildcard.and_then(served_by)) {
            (Some(site), wildcard) => HostRoute::Site { site, is_shadowed: wildcard.is_some() },
            (None, Some(route)) => route,
            (None, None) if exact.is_some() => HostRoute::Unverified,
            (None, None) => HostRoute::Unknown,
        }
    }

    /// Whether a zone has a custom hostname of this name in `later`, which came of this snapshot's resources by writes: what
    /// it knew is found by name, and what was written since is little.
    pub fn has_hostname(&self, later: &Resources, zone: &ZoneId, name: &str) -> bool {
        let is_it = |one: &CustomHostname| one.zone == *zone && *one.hostname == *name;
        let known = self.hostnames.of_name(name).iter();
        let mut known = known.filter_map(|site| later.hostnames.get(&site.hostname.id));
        let mut written = self.resources.hostnames.diff(&later.hostnames).filter_map(|change| match change {
            DiffItem::Add(_, written) | DiffItem::Update { new: (_, written), .. } => Some(written),
            DiffItem::Remove(..) => None,
        });
        known.any(|one| is_it(one)) || written.any(|one| is_it(one))
    }

    /// The origin of a key, which is one of the zone or the provider that it names.
    pub fn origin<'s>(&'s self, key: &OriginKey) -> Option<&'s Arc<Origin>> {
        let find = |pool: &'s Pool| pool.origins.iter().find(|origin| origin.key == *key);
        match (key.zone.strip_prefix(Provider::ORIGIN_PREFIX), self.sites.get(&key.zone)) {
            (Some(slug), _) => find(&self.gateways.providers.get(slug)?.pool),
            (None, Some(Site::Zone(zone))) => {
                find(&zone.pool).or_else(|| zone.routes.values().find_map(|pool| find(pool)))
            }
            (None, _) => None,
        }
    }

    /// The lists that rules of an account can name.
    pub fn sets_of(&self, account: &AccountId) -> NamedSets {
        let mut sets = NamedSets::default();
        for list in self.lists.values().filter(|list| list.source.account == *account) {
            sets.insert(list.source.name.clone(), list.set.clone());
        }
        sets.with_places(self.geo.kinds())
    }

    /// The certificate of the store for a name in lower case.
    pub fn certificate(&self, name: &str) -> Option<&Arc<ServedCertificate>> {
        self.certificate_that(name, |_| true)
    }

    /// The first certificate of the store for a name in lower case that suits a client. That of a custom hostname which is
    /// not verified counts if no site has the name: a claim changes nothing for who has it. For the same reason those of
    /// the zone that has the name come before those of zones above it.
    pub fn certificate_that(
        &self,
        name: &str,
        suits: impl Fn(&ServedCertificate) -> bool,
    ) -> Option<&Arc<ServedCertificate>> {
        let site = self.sites.find(name);
        let is_served =
            |id| self.resources.hostnames.get(&id).is_some_and(|hostname| hostname.status.is_served());
        let counts = |served: &ServedCertificate| {
            served.hostname().is_none_or(|id| is_served(id) || site.is_none()) && suits(served)
        };
        let is_nearest = |served: &ServedCertificate| match site {
            Some(Site::Zone(zone)) => served.hostname().is_some() || zone.source.id == served.zone,
            _ => true,
        };
        let nearest = self.certificates_by_name.select(name, |served| is_nearest(served) && counts(served));
        nearest.or_else(|| self.certificates_by_name.select(name, counts))
    }

    /// How TLS is spoken for a name in lower case: as the settings of its certificate say, else as the zone has it that serves
    /// the name. A certificate of a zone above that one says nothing of this.
    pub fn spoken_tls(&self, name: &str) -> SpokenTls<'_> {
        let served = self.certificate(name);
        let is_of_hostname = served.is_some_and(|served| served.hostname().is_some());
        let zone = match self.sites.find(name) {
            Some(Site::Zone(zone)) if !is_of_hostname => Some(&zone.source.value),
            _ => served.and_then(|served| self.resources.zones.get(&served.zone)).map(|zone| &zone.value),
        };
        let own = served.filter(|served| zone.is_some_and(|zone| zone.id == served.zone));
        SpokenTls {
            own: own.map(|served| &served.settings),
            zone: zone.map(|zone| &zone.tls),
            is_name_of_zone: zone.is_some_and(|zone| hostnames::fallback::is_in_zone(zone, name)),
        }
    }

    /// Whether there is a zone of this name.
    pub fn has_zone(&self, name: &str) -> bool {
        matches!(self.sites.get(name), Some(Site::Zone(zone)) if zone.name == name)
    }

    pub fn zones(&self) -> impl Iterator<Item = &Arc<CompiledZone>> {
        self.sites.values().filter_map(|site| match site {
            Site::Zone(zone) => Some(zone),
            Site::Gateway | Site::Names => None,
        })
    }
}

/// How TLS is spoken for a name.
#[derive(Clone, Copy, Debug)]
pub struct SpokenTls<'s> {
    /// The settings of its certificate; what they leave open is as the zone has it.
    pub own: Option<&'s TlsSettings>,
    pub zone: Option<&'s ZoneTls>,
    /// Whether it is a name of that zone, and no custom hostname.
    pub is_name_of_zone: bool,
}

impl SpokenTls<'_> {
    /// The lowest version that is spoken.
    pub fn min_version(&self) -> TlsVersion {
        let own = self.own.and_then(|own| own.min_tls_version);
        own.or_else(|| self.zone.and_then(|zone| zone.settings.min_tls_version)).unwrap_or_default()
    }
}

/// The one place a snapshot is swapped; clones share it.
#[derive(Clone)]
pub struct SnapshotHandle {
    current: Arc<ArcSwap<Snapshot>>,
}

impl SnapshotHandle {
    pub fn new(first: Snapshot) -> Self {
        Self { current: Arc::new(ArcSwap::from_pointee(first)) }
    }

    /// The snapshot in use. A request loads it once and keeps it.
    pub fn load(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Puts a snapshot in use for every request that begins from now on.
    pub fn publish(&self, next: Snapshot) {
        self.current.store(Arc::new(next));
    }
}

impl std::fmt::Debug for SnapshotHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SnapshotHandle(revision {})", self.load().revision)
    }
}
