//! Resources and rules to a snapshot. Pure: what it needs is given, what it makes is returned.

mod gateway;
mod hostnames;
mod lists;
mod names;
mod routes;
mod ruleset;
mod zone;
pub mod zone_keys;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;

use http::HeaderName;

use crate::certificates::Certificates;
use crate::conf::Conf;
use crate::routing::Hosts;
use crate::rules::Rules;
use crate::ruleset::{CustomRulesets, Plans, RuleList};
use crate::snapshot::{CompiledList, FlattenedTarget, Site, Snapshot};
use crate::upstream::{Origin, OriginKey};
use ::dns::Name;
use diagnostic::{Code, Diagnostic, Diagnostics};
use expression::NamedSets;
use model::{AccountId, Declared, Phase, Resources, Zone, ZoneId};

/// What a snapshot is made of.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    pub conf: &'a Conf,
    /// What the configuration declares and the store holds.
    pub resources: &'a Arc<Resources>,
    pub rules: &'a Rules,
    pub certificates: &'a HashMap<SocketAddr, Certificates>,
    /// Its origins keep their health.
    pub previous: Option<&'a Snapshot>,
    /// The zones that differ from those of the previous snapshot, if nothing else does; `None` if that is not known.
    pub changed: Option<&'a BTreeSet<ZoneId>>,
    /// What a resolver found since then.
    pub found: &'a [(Name, FlattenedTarget)],
    pub revision: u64,
}

/// Headers that carry a gateway token, before the configured ones.
pub const TOKEN_HEADERS: [&str; 2] = ["svc-aig-authorization", "svc-aig-token"];

/// Compiles a snapshot.
///
/// # Errors
/// Every error, each with its place if the configuration has one.
pub fn compile(inputs: Inputs<'_>) -> Result<Snapshot, Diagnostics> {
    let (plans, diagnostics) = (Plans::default(), Diagnostics::default());
    let mut compiling = Compiling {
        inputs,
        plans,
        diagnostics,
        sets: HashMap::new(),
        compiled_lists: BTreeMap::new(),
        accounts_with_other_lists: BTreeSet::new(),
        of_accounts: HashMap::new(),
        zone_names: RefCell::default(),
    };
    compiling.lists();
    compiling.account_rulesets();
    let resources = inputs.resources;
    let sites = match (inputs.previous, inputs.changed) {
        (Some(previous), Some(changed)) => compiling.changed_sites(previous, changed),
        _ => compiling.sites(),
    };
    let gateways = compiling.gateways(resources);
    let served_names = compiling.names();
    let (hostnames, certificates_by_name) = (compiling.hostnames(), compiling.certificates_by_name());
    let headers =
        TOKEN_HEADERS.into_iter().chain(inputs.conf.gateway_token_headers.iter().map(String::as_str));
    let snapshot = Snapshot {
        revision: inputs.revision,
        limits: inputs.conf.limits,
        upstream: inputs.conf.upstream,
        challenges: inputs.conf.challenges.clone(),
        dns: inputs.conf.dns.clone(),
        trusted_proxies: inputs.conf.trusted_proxies.clone(),
        geo: Arc::clone(&inputs.conf.geo),
        sites,
        names: served_names,
        gateways,
        token_headers: headers.filter_map(|name| HeaderName::try_from(name).ok()).collect(),
        managed: vec![Arc::clone(&inputs.rules.owasp), Arc::clone(&inputs.rules.sensitive_data)],
        lists: compiling.compiled_lists,
        certificates: inputs.certificates.clone(),
        hostnames,
        certificates_by_name,
        certificate_settings: Arc::clone(&inputs.conf.certificates),
        deprecations: Arc::clone(&inputs.conf.deprecations),
        mail: inputs.conf.mail.clone(),
        resources: Arc::clone(resources),
        modified: inputs.conf.modified.clone(),
        rules: inputs.rules.program.roots().len(),
    };
    compiling.diagnostics.into_result(snapshot)
}

/// The compiled rulesets of an account.
#[derive(Default)]
struct AccountRules {
    /// What runs before the entry points of its zones.
    entry_points: Vec<(Phase, Arc<RuleList>)>,
    /// What entry points can run.
    custom: CustomRulesets,
}

struct Compiling<'a> {
    inputs: Inputs<'a>,
    plans: Plans,
    diagnostics: Diagnostics,
    /// What the lists of accounts hold, by their names.
    sets: HashMap<AccountId, NamedSets>,
    compiled_lists: BTreeMap<String, CompiledList>,
    /// Those whose lists are not as in the previous snapshot.
    accounts_with_other_lists: BTreeSet<AccountId>,
    of_accounts: HashMap<AccountId, AccountRules>,
    /// Names of zones that custom hostnames are of.
    zone_names: RefCell<HashSet<Arc<str>>>,
}

impl Compiling<'_> {
    /// All sites.
    fn sites(&mut self) -> Hosts<Site> {
        let (resources, conf) = (self.inputs.resources, self.inputs.conf);
        let mut sites = Hosts::with_capacity(
            resources.zones.len() + conf.gateway_hosts.len() + conf.dns.https_hosts.len(),
        );
        for zone in resources.zones.values() {
            self.refuse_own_host(zone);
            sites.insert(&zone.name, Site::Zone(self.zone(zone)));
        }
        for host in &conf.gateway_hosts {
            sites.insert(host.as_str(), Site::Gateway);
        }
        for host in &conf.dns.https_hosts {
            sites.insert(host.as_str(), Site::Names);
        }
        sites
    }

    /// The sites of the previous snapshot, with what has changed.
    fn changed_sites(&mut self, previous: &Snapshot, changed: &BTreeSet<ZoneId>) -> Hosts<Site> {
        let mut sites = previous.sites.clone();
        for id in changed {
            if let Some(zone) = previous.resources.zones.get(id) {
                sites.remove(&zone.name);
            }
        }
        for id in changed {
            if let Some(zone) = self.inputs.resources.zones.get(id) {
                self.refuse_own_host(zone);
                sites.insert(&zone.name, Site::Zone(self.zone(zone)));
            }
        }
        sites
    }

    /// Refuses a zone with the name of a host of our own: a name stands for one of them.
    fn refuse_own_host(&mut self, zone: &Declared<Zone>) {
        let conf = self.inputs.conf;
        let own = [("gateway_hosts", &conf.gateway_hosts), ("dns.https_hosts", &conf.dns.https_hosts)];
        for (key, _) in
            own.into_iter().filter(|(_, hosts)| hosts.iter().any(|host| host.as_str() == zone.name))
        {
            let message =
                format!("the zone `{}` has the name of a host in `{key}`; remove it from there", zone.name);
            let diagnostic = Diagnostic::error(Code::ConfConflict, message);
            self.diagnostics.push(match zone.place() {
                Some(place) => diagnostic.at(place.clone()),
                None => diagnostic,
            });
        }
    }

    /// The origin of a key: the previous snapshot's, so that its health is not forgotten, or a new one.
    fn origin(&self, key: OriginKey) -> Result<Arc<Origin>, String> {
        let known = self.inputs.previous.and_then(|previous| previous.origin(&key));
        known.map_or_else(|| Origin::new(key), |known| Ok(Arc::clone(known)))
    }
}
