//! What is written: changesets, and what each change does to the current state.

use std::sync::Arc;

use imbl::OrdMap;
use serde::{Deserialize, Serialize};

use diagnostic::Place;
use model::gateway::{Provider, ProviderKey};
use model::{
    AccessApp, Account, AccountId, AcmeAccount, AlertPolicy, AlertWebhook, ApiToken, CertificatePack,
    CustomHostname, Declared, DnsRecord, DynamicRoute, Gateway, GatewayId, GatewayToken, HostnameId,
    NameService, NamedList, PackId, RecordId, Resources, RouteId, Ruleset, RulesetOwner, RulesetSlot,
    SigningRequest, SigningRequestId, TokenId, Zone, ZoneId,
};

use crate::Revision;

/// An atomic list of changes, with who made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Changeset {
    pub actor: String,
    pub changes: Vec<Change>,
    /// The request that asked for it, if that had an idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<KeyedRequest>,
}

/// A request with an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyedRequest {
    /// Hash of who asked and the key.
    pub key: String,
    /// Hash of what was asked.
    pub question: String,
}

/// One resource, put or deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    PutToken {
        token: GatewayToken,
    },
    DeleteToken {
        id: TokenId,
    },
    PutKey {
        key: ProviderKey,
    },
    DeleteKey {
        account: AccountId,
        gateway: GatewayId,
        provider: String,
        alias: String,
    },
    PutAccount {
        account: Account,
    },
    DeleteAccount {
        id: AccountId,
    },
    PutZone {
        zone: Box<Zone>,
    },
    DeleteZone {
        id: ZoneId,
    },
    PutRuleset {
        zone: ZoneId,
        ruleset: Box<Ruleset>,
    },
    /// `phase` is the slot: those of entry points are written as their phase alone.
    DeleteRuleset {
        zone: ZoneId,
        phase: RulesetSlot,
    },
    PutAccountRuleset {
        account: AccountId,
        ruleset: Box<Ruleset>,
    },
    DeleteAccountRuleset {
        account: AccountId,
        phase: RulesetSlot,
    },
    PutGateway {
        gateway: Box<Gateway>,
    },
    DeleteGateway {
        account: AccountId,
        id: GatewayId,
    },
    PutRoute {
        route: Box<DynamicRoute>,
    },
    DeleteRoute {
        account: AccountId,
        gateway: GatewayId,
        id: RouteId,
    },
    PutProvider {
        provider: Provider,
    },
    DeleteProvider {
        slug: String,
    },
    PutApiToken {
        token: ApiToken,
    },
    DeleteApiToken {
        id: TokenId,
    },
    PutAlert {
        alert: AlertPolicy,
    },
    DeleteAlert {
        id: String,
    },
    PutWebhook {
        webhook: AlertWebhook,
    },
    DeleteWebhook {
        id: String,
    },
    PutAccessApp {
        app: AccessApp,
    },
    DeleteAccessApp {
        /// That it is of, if it is not of an account.
        zone: Option<ZoneId>,
        id: String,
    },
    PutList {
        list: Box<NamedList>,
    },
    DeleteList {
        account: AccountId,
        id: String,
    },
    PutRecord {
        record: Box<DnsRecord>,
    },
    DeleteRecord {
        zone: ZoneId,
        id: RecordId,
    },
    PutHostname {
        hostname: Box<CustomHostname>,
    },
    DeleteHostname {
        zone: ZoneId,
        id: HostnameId,
    },
    PutPack {
        pack: Box<CertificatePack>,
    },
    DeletePack {
        zone: ZoneId,
        id: PackId,
    },
    PutSigningRequest {
        request: Box<SigningRequest>,
    },
    DeleteSigningRequest {
        /// That it is of, if it is not of an account.
        zone: Option<ZoneId>,
        id: SigningRequestId,
    },
    PutAcmeAccount {
        account: AcmeAccount,
    },
    DeleteAcmeAccount {
        authority: String,
    },
    PutNameService {
        service: Box<NameService>,
    },
}

impl Changeset {
    pub fn new(actor: impl Into<String>, changes: Vec<Change>) -> Self {
        Self { actor: actor.into(), changes, request: None }
    }

    /// What resources are after this changeset, which has a revision.
    pub fn apply(&self, resources: &mut Resources, revision: Revision) {
        self.changes.iter().for_each(|change| change.apply(resources, revision));
    }
}

impl Change {
    #[expect(clippy::too_many_lines, reason = "an arm for each change")]
    pub(crate) fn apply(&self, resources: &mut Resources, revision: Revision) {
        match self {
            Self::PutToken { token } => put(&mut resources.tokens, token.id.clone(), token, revision),
            Self::DeleteToken { id } => drop(resources.tokens.remove(id)),
            Self::PutKey { key } => {
                let id = (key.account.clone(), key.gateway.clone(), key.provider.clone(), key.alias.clone());
                put(&mut resources.keys, id, key, revision);
            }
            Self::DeleteKey { account, gateway, provider, alias } => {
                resources.keys.remove(&(account.clone(), gateway.clone(), provider.clone(), alias.clone()));
            }
            Self::PutAccount { account } => {
                put(&mut resources.accounts, account.id.clone(), account, revision);
            }
            Self::DeleteAccount { id } => drop(resources.accounts.remove(id)),
            Self::PutZone { zone } => {
                let declared = Declared::at_revision(Zone::clone(zone), revision);
                resources.zones.insert(zone.id.clone(), Arc::new(declared));
            }
            Self::DeleteZone { id } => {
                resources.records.remove(id);
                remove_those(&mut resources.access_apps, |app| app.zone.as_ref() == Some(id));
                remove_those(&mut resources.signing_requests, |request| request.zone.as_ref() == Some(id));
                remove_those(&mut resources.hostnames, |hostname| hostname.zone == *id);
                remove_those(&mut resources.packs, |pack| pack.zone == *id);
                resources.zones.remove(id);
            }
            Self::PutRuleset { zone, ruleset } => {
                put_ruleset(resources, RulesetOwner::Zone(zone.clone()), ruleset, revision);
            }
            Self::PutAccountRuleset { account, ruleset } => {
                put_ruleset(resources, RulesetOwner::Account(account.clone()), ruleset, revision);
            }
            Self::DeleteRuleset { .. } | Self::DeleteAccountRuleset { .. } => {
                let _ = self.ruleset_key().and_then(|key| resources.rulesets.remove(&key));
            }
            Self::PutGateway { gateway } => {
                let id = (gateway.account.clone(), gateway.id.clone());
                put(&mut resources.gateways, id, gateway.as_ref(), revision);
            }
            Self::DeleteGateway { account, id } => {
                resources.gateways.remove(&(account.clone(), id.clone()));
            }
            Self::PutRoute { route } => {
                let id = (route.account.clone(), route.gateway.clone(), route.id.clone());
                put(&mut resources.dynamic_routes, id, route.as_ref(), revision);
            }
            Self::DeleteRoute { account, gateway, id } => {
                resources.dynamic_routes.remove(&(account.clone(), gateway.clone(), id.clone()));
            }
            Self::PutProvider { provider } => {
                put(&mut resources.providers, provider.slug.clone(), provider, revision);
            }
            Self::DeleteProvider { slug } => drop(resources.providers.remove(slug)),
            Self::PutApiToken { token } => {
                put(&mut resources.api_tokens, token.id.clone(), token, revision);
            }
            Self::DeleteApiToken { id } => drop(resources.api_tokens.remove(id)),
            Self::PutAlert { alert } => put(&mut resources.alerts, alert.id.clone(), alert, revision),
            Self::DeleteAlert { id } => drop(resources.alerts.remove(id)),
            Self::PutWebhook { webhook } => {
                put(&mut resources.webhooks, webhook.id.clone(), webhook, revision);
            }
            Self::DeleteWebhook { id } => drop(resources.webhooks.remove(id)),
            Self::PutAccessApp { app } => put(&mut resources.access_apps, app.id.clone(), app, revision),
            Self::DeleteAccessApp { id, .. } => drop(resources.access_apps.remove(id)),
            Self::PutList { list } => {
                let declared = Declared::at_revision(NamedList::clone(list), revision);
                resources.lists.insert(list.id.clone(), Arc::new(declared));
            }
            Self::DeleteList { id, .. } => drop(resources.lists.remove(id)),
            Self::PutRecord { record } => {
                let records = resources.records.entry(record.zone.clone()).or_default();
                records.put_record(DnsRecord::clone(record), revision);
            }
            Self::DeleteRecord { zone, id } => {
                if let Some(records) = resources.records.get_mut(zone) {
                    records.remove(id, revision);
                }
            }
            Self::PutHostname { hostname } => {
                let declared = Declared::at_revision(CustomHostname::clone(hostname), revision);
                resources.hostnames.insert(hostname.id, Arc::new(declared));
            }
            Self::DeleteHostname { id, .. } => drop(resources.hostnames.remove(id)),
            Self::PutPack { pack } => {
                let declared = Declared::at_revision(CertificatePack::clone(pack), revision);
                resources.packs.insert(pack.id, Arc::new(declared));
            }
            Self::DeletePack { id, .. } => drop(resources.packs.remove(id)),
            Self::PutSigningRequest { request } => {
                put(&mut resources.signing_requests, request.id, request.as_ref(), revision);
            }
            Self::DeleteSigningRequest { id, .. } => drop(resources.signing_requests.remove(id)),
            Self::PutAcmeAccount { account } => {
                put(&mut resources.acme_accounts, account.authority.clone(), account, revision);
            }
            Self::DeleteAcmeAccount { authority } => drop(resources.acme_accounts.remove(authority)),
            Self::PutNameService { service } => {
                resources.name_service = Some(Declared::at_revision(NameService::clone(service), revision));
            }
        }
    }

    /// Puts a ruleset.
    pub fn put_ruleset(owner: RulesetOwner, ruleset: Ruleset) -> Self {
        let ruleset = Box::new(ruleset);
        match owner {
            RulesetOwner::Account(account) => Self::PutAccountRuleset { account, ruleset },
            RulesetOwner::Zone(zone) => Self::PutRuleset { zone, ruleset },
        }
    }

    /// Deletes a ruleset.
    pub fn delete_ruleset(owner: RulesetOwner, slot: RulesetSlot) -> Self {
        match owner {
            RulesetOwner::Account(account) => Self::DeleteAccountRuleset { account, phase: slot },
            RulesetOwner::Zone(zone) => Self::DeleteRuleset { zone, phase: slot },
        }
    }

    /// The account whose zones are all not the same afterwards; `None` if it is about less.
    pub fn account_of_zones(&self) -> Option<&AccountId> {
        match self {
            Self::PutAccountRuleset { account, .. } | Self::DeleteAccountRuleset { account, .. } => {
                Some(account)
            }
            Self::PutAccount { account } => Some(&account.id),
            Self::PutList { list } => Some(&list.account),
            Self::DeleteList { account, .. } => Some(account),
            _ => None,
        }
    }

    /// The zone that is not the same afterwards; `None` if it is about something else.
    pub fn zone(&self) -> Option<&ZoneId> {
        match self {
            Self::PutZone { zone } => Some(&zone.id),
            Self::DeleteZone { id } => Some(id),
            Self::PutRuleset { zone, .. }
            | Self::DeleteRuleset { zone, .. }
            | Self::DeleteRecord { zone, .. } => Some(zone),
            Self::PutRecord { record } => Some(&record.zone),
            _ => None,
        }
    }

    /// Where the ruleset is that this changes; `None` if it changes something else.
    fn ruleset_key(&self) -> Option<(RulesetOwner, RulesetSlot)> {
        match self {
            Self::PutRuleset { zone, ruleset } => Some((RulesetOwner::Zone(zone.clone()), ruleset.slot())),
            Self::DeleteRuleset { zone, phase } => Some((RulesetOwner::Zone(zone.clone()), phase.clone())),
            Self::PutAccountRuleset { account, ruleset } => {
                Some((RulesetOwner::Account(account.clone()), ruleset.slot()))
            }
            Self::DeleteAccountRuleset { account, phase } => {
                Some((RulesetOwner::Account(account.clone()), phase.clone()))
            }
            _ => None,
        }
    }

    /// Where a file declares the resource that this changes; `None` if none does.
    pub fn place<'r>(&self, resources: &'r Resources) -> Option<&'r Place> {
        match self {
            Self::PutToken { token: GatewayToken { id, .. } } | Self::DeleteToken { id } => {
                resources.tokens.get(id)?.place()
            }
            Self::PutKey { key: ProviderKey { account, gateway, provider, alias, .. } }
            | Self::DeleteKey { account, gateway, provider, alias } => {
                let id = (account.clone(), gateway.clone(), provider.clone(), alias.clone());
                resources.keys.get(&id)?.place()
            }
            Self::PutAccount { account: Account { id, .. } } | Self::DeleteAccount { id } => {
                resources.accounts.get(id)?.place()
            }
            Self::PutZone { zone } => resources.zones.get(&zone.id)?.place(),
            Self::DeleteZone { id } => resources.zones.get(id)?.place(),
            Self::PutRuleset { .. }
            | Self::DeleteRuleset { .. }
            | Self::PutAccountRuleset { .. }
            | Self::DeleteAccountRuleset { .. } => resources.rulesets.get(&self.ruleset_key()?)?.place(),
            Self::PutGateway { gateway } => {
                resources.gateways.get(&(gateway.account.clone(), gateway.id.clone()))?.place()
            }
            Self::DeleteGateway { account, id } => {
                resources.gateways.get(&(account.clone(), id.clone()))?.place()
            }
            Self::PutRoute { route } => {
                let id = (route.account.clone(), route.gateway.clone(), route.id.clone());
                resources.dynamic_routes.get(&id)?.place()
            }
            Self::DeleteRoute { account, gateway, id } => {
                resources.dynamic_routes.get(&(account.clone(), gateway.clone(), id.clone()))?.place()
            }
            Self::PutProvider { provider: Provider { slug, .. } } | Self::DeleteProvider { slug } => {
                resources.providers.get(slug)?.place()
            }
            Self::PutApiToken { token: ApiToken { id, .. } } | Self::DeleteApiToken { id } => {
                resources.api_tokens.get(id)?.place()
            }
            Self::PutAlert { alert: AlertPolicy { id, .. } } | Self::DeleteAlert { id } => {
                resources.alerts.get(id)?.place()
            }
            Self::PutWebhook { webhook: AlertWebhook { id, .. } } | Self::DeleteWebhook { id } => {
                resources.webhooks.get(id)?.place()
            }
            Self::PutList { list } => resources.lists.get(&list.id)?.place(),
            Self::DeleteList { id, .. } => resources.lists.get(id)?.place(),
            Self::PutRecord { record } => resources.records.get(&record.zone)?.get(&record.id)?.place(),
            Self::DeleteRecord { zone, id } => resources.records.get(zone)?.get(id)?.place(),
            // Files declare none of these.
            Self::PutAccessApp { .. }
            | Self::DeleteAccessApp { .. }
            | Self::PutHostname { .. }
            | Self::DeleteHostname { .. }
            | Self::PutPack { .. }
            | Self::DeletePack { .. }
            | Self::PutSigningRequest { .. }
            | Self::DeleteSigningRequest { .. }
            | Self::PutAcmeAccount { .. }
            | Self::DeleteAcmeAccount { .. }
            | Self::PutNameService { .. } => None,
        }
    }
}

/// Removes what is of a zone that goes.
fn remove_those<K: Ord + Clone, D: Clone>(map: &mut OrdMap<K, D>, is_gone: impl Fn(&D) -> bool) {
    let gone: Vec<K> = map.iter().filter(|(_, one)| is_gone(one)).map(|(id, _)| id.clone()).collect();
    for id in gone {
        map.remove(&id);
    }
}

fn put_ruleset(resources: &mut Resources, owner: RulesetOwner, ruleset: &Ruleset, revision: Revision) {
    let declared = Declared::at_revision(ruleset.clone(), revision);
    resources.rulesets.insert((owner, ruleset.slot()), Arc::new(declared));
}

fn put<K: Ord + Clone, T: Clone>(
    resources: &mut OrdMap<K, Declared<T>>,
    id: K,
    value: &T,
    revision: Revision,
) {
    resources.insert(id, Declared::at_revision(value.clone(), revision));
}
