//! What is written: changesets, and what each change does to the current state.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use diagnostic::Place;
use model::gateway::{Provider, ProviderKey};
use model::{
    Account, AccountId, AlertPolicy, AlertWebhook, ApiToken, Declared, Gateway, GatewayId, GatewayToken,
    NamedList, Phase, Resources, Ruleset, RulesetOwner, TokenId, Zone, ZoneId,
};

use crate::{Revision, StoreError};

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
    PutToken { token: GatewayToken },
    DeleteToken { id: TokenId },
    PutKey { key: ProviderKey },
    DeleteKey { account: AccountId, gateway: GatewayId, provider: String, alias: String },
    PutAccount { account: Account },
    DeleteAccount { id: AccountId },
    PutZone { zone: Box<Zone> },
    DeleteZone { id: ZoneId },
    PutRuleset { zone: ZoneId, ruleset: Box<Ruleset> },
    DeleteRuleset { zone: ZoneId, phase: Phase },
    PutAccountRuleset { account: AccountId, ruleset: Box<Ruleset> },
    DeleteAccountRuleset { account: AccountId, phase: Phase },
    PutGateway { gateway: Box<Gateway> },
    DeleteGateway { account: AccountId, id: GatewayId },
    PutProvider { provider: Provider },
    DeleteProvider { slug: String },
    PutApiToken { token: ApiToken },
    DeleteApiToken { id: TokenId },
    PutAlert { alert: AlertPolicy },
    DeleteAlert { id: String },
    PutWebhook { webhook: AlertWebhook },
    DeleteWebhook { id: String },
    PutList { list: Box<NamedList> },
    DeleteList { account: AccountId, id: String },
}

/// The kinds of resources, as the table of the current state names them.
const TOKEN: &str = "gateway_token";
const KEY: &str = "provider_key";
const ACCOUNT: &str = "account";
const ZONE: &str = "zone";
const RULESET: &str = "zone_ruleset";
const ACCOUNT_RULESET: &str = "account_ruleset";
const GATEWAY: &str = "gateway";
const PROVIDER: &str = "provider";
const API_TOKEN: &str = "api_token";
const ALERT: &str = "alert";
const WEBHOOK: &str = "webhook";
const LIST: &str = "list";

/// What a change does to the table of the current state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) kind: &'static str,
    /// Unique among the resources of its kind.
    pub(crate) id: String,
    /// JSON; `None` if the resource is deleted.
    pub(crate) body: Option<String>,
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
    fn apply(&self, resources: &mut Resources, revision: Revision) {
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
            Self::DeleteZone { id } => drop(resources.zones.remove(id)),
            Self::PutRuleset { zone, ruleset } => {
                put_ruleset(resources, RulesetOwner::Zone(zone.clone()), ruleset, revision);
            }
            Self::PutAccountRuleset { account, ruleset } => {
                put_ruleset(resources, RulesetOwner::Account(account.clone()), ruleset, revision);
            }
            Self::DeleteRuleset { zone, phase } => {
                resources.rulesets.remove(&(RulesetOwner::Zone(zone.clone()), *phase));
            }
            Self::DeleteAccountRuleset { account, phase } => {
                resources.rulesets.remove(&(RulesetOwner::Account(account.clone()), *phase));
            }
            Self::PutGateway { gateway } => {
                let id = (gateway.account.clone(), gateway.id.clone());
                put(&mut resources.gateways, id, gateway.as_ref(), revision);
            }
            Self::DeleteGateway { account, id } => {
                resources.gateways.remove(&(account.clone(), id.clone()));
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
            Self::PutList { list } => {
                let declared = Declared::at_revision(NamedList::clone(list), revision);
                resources.lists.insert(list.id.clone(), Arc::new(declared));
            }
            Self::DeleteList { id, .. } => drop(resources.lists.remove(id)),
        }
    }

    /// Puts an entry point.
    pub fn put_ruleset(owner: RulesetOwner, ruleset: Ruleset) -> Self {
        let ruleset = Box::new(ruleset);
        match owner {
            RulesetOwner::Account(account) => Self::PutAccountRuleset { account, ruleset },
            RulesetOwner::Zone(zone) => Self::PutRuleset { zone, ruleset },
        }
    }

    /// Deletes an entry point.
    pub fn delete_ruleset(owner: RulesetOwner, phase: Phase) -> Self {
        match owner {
            RulesetOwner::Account(account) => Self::DeleteAccountRuleset { account, phase },
            RulesetOwner::Zone(zone) => Self::DeleteRuleset { zone, phase },
        }
    }

    /// The account whose zones are all not the same afterwards; `None` if it is about less.
    pub fn account_of_zones(&self) -> Option<&AccountId> {
        match self {
            Self::PutAccountRuleset { account, .. } | Self::DeleteAccountRuleset { account, .. } => {
                Some(account)
            }
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
            Self::PutRuleset { zone, .. } | Self::DeleteRuleset { zone, .. } => Some(zone),
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
            Self::PutRuleset { zone, ruleset } => {
                resources.rulesets.get(&(RulesetOwner::Zone(zone.clone()), ruleset.phase))?.place()
            }
            Self::DeleteRuleset { zone, phase } => {
                resources.rulesets.get(&(RulesetOwner::Zone(zone.clone()), *phase))?.place()
            }
            Self::PutAccountRuleset { account, ruleset } => {
                resources.rulesets.get(&(RulesetOwner::Account(account.clone()), ruleset.phase))?.place()
            }
            Self::DeleteAccountRuleset { account, phase } => {
                resources.rulesets.get(&(RulesetOwner::Account(account.clone()), *phase))?.place()
            }
            Self::PutGateway { gateway } => {
                resources.gateways.get(&(gateway.account.clone(), gateway.id.clone()))?.place()
            }
            Self::DeleteGateway { account, id } => {
                resources.gateways.get(&(account.clone(), id.clone()))?.place()
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
        }
    }

    pub(crate) fn row(&self) -> Result<Row, StoreError> {
        let (kind, id, body) = match self {
            Self::PutToken { token } => (TOKEN, token.id.to_string(), Some(json(token)?)),
            Self::DeleteToken { id } => (TOKEN, id.to_string(), None),
            Self::PutKey { key } => {
                let id = key_id(&key.account, &key.gateway, &key.provider, &key.alias)?;
                (KEY, id, Some(json(key)?))
            }
            Self::DeleteKey { account, gateway, provider, alias } => {
                (KEY, key_id(account, gateway, provider, alias)?, None)
            }
            Self::PutAccount { account } => (ACCOUNT, account.id.to_string(), Some(json(account)?)),
            Self::DeleteAccount { id } => (ACCOUNT, id.to_string(), None),
            Self::PutZone { zone } => (ZONE, zone.id.to_string(), Some(json(zone)?)),
            Self::DeleteZone { id } => (ZONE, id.to_string(), None),
            Self::PutRuleset { zone, ruleset } => {
                let body = json(&StoredRuleset { zone: zone.clone(), ruleset: Ruleset::clone(ruleset) })?;
                (RULESET, json(&(zone, ruleset.phase))?, Some(body))
            }
            Self::DeleteRuleset { zone, phase } => (RULESET, json(&(zone, phase))?, None),
            Self::PutAccountRuleset { account, ruleset } => {
                let stored =
                    StoredAccountRuleset { account: account.clone(), ruleset: Ruleset::clone(ruleset) };
                (ACCOUNT_RULESET, json(&(account, ruleset.phase))?, Some(json(&stored)?))
            }
            Self::DeleteAccountRuleset { account, phase } => {
                (ACCOUNT_RULESET, json(&(account, phase))?, None)
            }
            Self::PutGateway { gateway } => {
                (GATEWAY, json(&(&gateway.account, &gateway.id))?, Some(json(gateway)?))
            }
            Self::DeleteGateway { account, id } => (GATEWAY, json(&(account, id))?, None),
            Self::PutProvider { provider } => (PROVIDER, provider.slug.clone(), Some(json(provider)?)),
            Self::DeleteProvider { slug } => (PROVIDER, slug.clone(), None),
            Self::PutApiToken { token } => (API_TOKEN, token.id.to_string(), Some(json(token)?)),
            Self::DeleteApiToken { id } => (API_TOKEN, id.to_string(), None),
            Self::PutAlert { alert } => (ALERT, alert.id.clone(), Some(json(alert)?)),
            Self::DeleteAlert { id } => (ALERT, id.clone(), None),
            Self::PutWebhook { webhook } => (WEBHOOK, webhook.id.clone(), Some(json(webhook)?)),
            Self::DeleteWebhook { id } => (WEBHOOK, id.clone(), None),
            Self::PutList { list } => (LIST, list.id.clone(), Some(json(list)?)),
            Self::DeleteList { id, .. } => (LIST, id.clone(), None),
        };
        Ok(Row { kind, id, body })
    }
}

/// An entry point with the zone it is of, as a row has it.
#[derive(Serialize, Deserialize)]
struct StoredRuleset {
    zone: ZoneId,
    ruleset: Ruleset,
}

/// An entry point with the account it is of, as a row has it.
#[derive(Serialize, Deserialize)]
struct StoredAccountRuleset {
    account: AccountId,
    ruleset: Ruleset,
}

fn put_ruleset(resources: &mut Resources, owner: RulesetOwner, ruleset: &Ruleset, revision: Revision) {
    let declared = Declared::at_revision(ruleset.clone(), revision);
    resources.rulesets.insert((owner, ruleset.phase), Arc::new(declared));
}

fn put<K: Ord, T: Clone>(resources: &mut BTreeMap<K, Declared<T>>, id: K, value: &T, revision: Revision) {
    resources.insert(id, Declared::at_revision(value.clone(), revision));
}

/// The history of an entry point, by the kind and the id that its rows have.
///
/// # Errors
/// [`StoreError::Failed`] never in practice: ids are texts.
pub fn ruleset_row_id(owner: &RulesetOwner, phase: Phase) -> Result<(&'static str, String), StoreError> {
    Ok(match owner {
        RulesetOwner::Account(account) => (ACCOUNT_RULESET, json(&(account, phase))?),
        RulesetOwner::Zone(zone) => (RULESET, json(&(zone, phase))?),
    })
}

/// The entry point that a row of its history holds; `None` if it was deleted then.
///
/// # Errors
/// [`StoreError::Failed`] if the text is not a ruleset.
pub fn ruleset_of_row(body: Option<&str>) -> Result<Option<Ruleset>, StoreError> {
    /// What the rows of all owners have.
    #[derive(Deserialize)]
    struct Stored {
        ruleset: Ruleset,
    }
    body.map(|body| read::<Stored>(RULESET, body).map(|stored| stored.ruleset)).transpose()
}

/// Adds a row of the current state to resources.
///
/// # Errors
/// [`StoreError::Failed`] if the kind is unknown or the text is not such a resource.
pub(crate) fn add_row(
    resources: &mut Resources,
    kind: &str,
    body: &str,
    revision: Revision,
) -> Result<(), StoreError> {
    let change = match kind {
        TOKEN => Change::PutToken { token: read(kind, body)? },
        KEY => Change::PutKey { key: read(kind, body)? },
        ACCOUNT => Change::PutAccount { account: read(kind, body)? },
        ZONE => Change::PutZone { zone: read(kind, body)? },
        RULESET => {
            let StoredRuleset { zone, ruleset } = read(kind, body)?;
            Change::PutRuleset { zone, ruleset: Box::new(ruleset) }
        }
        ACCOUNT_RULESET => {
            let StoredAccountRuleset { account, ruleset } = read(kind, body)?;
            Change::PutAccountRuleset { account, ruleset: Box::new(ruleset) }
        }
        GATEWAY => Change::PutGateway { gateway: read(kind, body)? },
        PROVIDER => Change::PutProvider { provider: read(kind, body)? },
        API_TOKEN => Change::PutApiToken { token: read(kind, body)? },
        ALERT => Change::PutAlert { alert: read(kind, body)? },
        WEBHOOK => Change::PutWebhook { webhook: read(kind, body)? },
        LIST => Change::PutList { list: read(kind, body)? },
        _ => return Err(StoreError::Failed(format!("it holds a resource of the unknown kind `{kind}`"))),
    };
    change.apply(resources, revision);
    Ok(())
}

/// A JSON array of its parts: no two keys share one, whatever characters are in the parts.
fn key_id(
    account: &AccountId,
    gateway: &GatewayId,
    provider: &str,
    alias: &str,
) -> Result<String, StoreError> {
    json(&(account, gateway, provider, alias))
}

fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Failed(error.to_string()))
}

fn read<'t, T: Deserialize<'t>>(kind: &str, body: &'t str) -> Result<T, StoreError> {
    serde_json::from_str(body)
        .map_err(|error| StoreError::Failed(format!("a {kind} cannot be read: {error}")))
}
