//! Resources as rows of the table of the current state.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use model::{
    AccountId, DnsRecord, GatewayId, RecordId, Resources, Ruleset, RulesetOwner, RulesetSlot, ZoneId,
};

use crate::change::Change;
use crate::{Revision, StoreError};

/// The kinds of resources, as the table of the current state names them.
const TOKEN: &str = "gateway_token";
const KEY: &str = "provider_key";
const ACCOUNT: &str = "account";
const ZONE: &str = "zone";
const RULESET: &str = "zone_ruleset";
const ACCOUNT_RULESET: &str = "account_ruleset";
const GATEWAY: &str = "gateway";
const ROUTE: &str = "dynamic_route";
const PROVIDER: &str = "provider";
const API_TOKEN: &str = "api_token";
const ALERT: &str = "alert";
const WEBHOOK: &str = "webhook";
const ACCESS_APP: &str = "access_app";
const LIST: &str = "list";
const ACME_ACCOUNT: &str = "acme_account";
const NAME_SERVICE: &str = "name_service";
pub(crate) const RECORD: &str = "dns_record";
const HOSTNAME: &str = "custom_hostname";
const PACK: &str = "certificate_pack";
const SIGNING_REQUEST: &str = "signing_request";
/// The kinds whose rows have ids that begin with a zone's, and go with it.
pub(crate) const OF_ZONES: [&str; 5] = [RECORD, HOSTNAME, PACK, SIGNING_REQUEST, ACCESS_APP];

/// What a change does to the table of the current state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) kind: &'static str,
    /// Unique among the resources of its kind.
    pub(crate) id: String,
    /// JSON; `None` if the resource is deleted.
    pub(crate) body: Option<String>,
}

impl Change {
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
                (RULESET, json(&(zone, ruleset.slot()))?, Some(body))
            }
            Self::DeleteRuleset { zone, phase } => (RULESET, json(&(zone, phase))?, None),
            Self::PutAccountRuleset { account, ruleset } => {
                let stored =
                    StoredAccountRuleset { account: account.clone(), ruleset: Ruleset::clone(ruleset) };
                (ACCOUNT_RULESET, json(&(account, ruleset.slot()))?, Some(json(&stored)?))
            }
            Self::DeleteAccountRuleset { account, phase } => {
                (ACCOUNT_RULESET, json(&(account, phase))?, None)
            }
            Self::PutGateway { gateway } => {
                (GATEWAY, json(&(&gateway.account, &gateway.id))?, Some(json(gateway)?))
            }
            Self::DeleteGateway { account, id } => (GATEWAY, json(&(account, id))?, None),
            Self::PutRoute { route } => {
                (ROUTE, json(&(&route.account, &route.gateway, &route.id))?, Some(json(route)?))
            }
            Self::DeleteRoute { account, gateway, id } => (ROUTE, json(&(account, gateway, id))?, None),
            Self::PutProvider { provider } => (PROVIDER, provider.slug.clone(), Some(json(provider)?)),
            Self::DeleteProvider { slug } => (PROVIDER, slug.clone(), None),
            Self::PutApiToken { token } => (API_TOKEN, token.id.to_string(), Some(json(token)?)),
            Self::DeleteApiToken { id } => (API_TOKEN, id.to_string(), None),
            Self::PutAlert { alert } => (ALERT, alert.id.clone(), Some(json(alert)?)),
            Self::DeleteAlert { id } => (ALERT, id.clone(), None),
            Self::PutWebhook { webhook } => (WEBHOOK, webhook.id.clone(), Some(json(webhook)?)),
            Self::DeleteWebhook { id } => (WEBHOOK, id.clone(), None),
            Self::PutAccessApp { app } => (ACCESS_APP, row_id(app.zone.as_ref(), &app.id), Some(json(app)?)),
            Self::DeleteAccessApp { zone, id } => (ACCESS_APP, row_id(zone.as_ref(), id), None),
            Self::PutList { list } => (LIST, list.id.clone(), Some(json(list)?)),
            Self::DeleteList { id, .. } => (LIST, id.clone(), None),
            Self::PutRecord { record } => {
                (RECORD, record_row_id(&record.zone, &record.id), Some(json(record)?))
            }
            Self::DeleteRecord { zone, id } => (RECORD, record_row_id(zone, id), None),
            Self::PutHostname { hostname } => {
                (HOSTNAME, format!("{}/{}", hostname.zone, hostname.id), Some(json(hostname)?))
            }
            Self::DeleteHostname { zone, id } => (HOSTNAME, format!("{zone}/{id}"), None),
            Self::PutPack { pack } => (PACK, format!("{}/{}", pack.zone, pack.id), Some(json(pack)?)),
            Self::DeletePack { zone, id } => (PACK, format!("{zone}/{id}"), None),
            Self::PutSigningRequest { request } => {
                (SIGNING_REQUEST, row_id(request.zone.as_ref(), request.id), Some(json(request)?))
            }
            Self::DeleteSigningRequest { zone, id } => (SIGNING_REQUEST, row_id(zone.as_ref(), id), None),
            Self::PutAcmeAccount { account } => {
                (ACME_ACCOUNT, account.authority.clone(), Some(json(account)?))
            }
            Self::DeleteAcmeAccount { authority } => (ACME_ACCOUNT, authority.clone(), None),
            // There is one.
            Self::PutNameService { service } => (NAME_SERVICE, String::new(), Some(json(service)?)),
        };
        Ok(Row { kind, id, body })
    }
}

/// The history of the records of a zone, or of one of them: the kind of its rows, and what their ids begin with.
pub fn record_history(zone: &ZoneId, record: Option<&RecordId>) -> (&'static str, String) {
    (RECORD, record.map_or_else(|| format!("{zone}/"), |record| record_row_id(zone, record)))
}

/// The record that a row of its history holds.
///
/// # Errors
/// [`StoreError::Failed`] if the text is not a record.
pub fn record_of_row(body: &str) -> Result<DnsRecord, StoreError> {
    read(RECORD, body)
}

/// A ruleset with the zone it is of, as a row has it.
#[derive(Serialize, Deserialize)]
struct StoredRuleset {
    zone: ZoneId,
    ruleset: Ruleset,
}

/// A ruleset with the account it is of, as a row has it.
#[derive(Serialize, Deserialize)]
struct StoredAccountRuleset {
    account: AccountId,
    ruleset: Ruleset,
}

/// The history of a ruleset, by the kind and the id that its rows have.
///
/// # Errors
/// [`StoreError::Failed`] never in practice: ids are texts.
pub fn ruleset_row_id(
    owner: &RulesetOwner,
    slot: &RulesetSlot,
) -> Result<(&'static str, String), StoreError> {
    Ok(match owner {
        RulesetOwner::Account(account) => (ACCOUNT_RULESET, json(&(account, slot))?),
        RulesetOwner::Zone(zone) => (RULESET, json(&(zone, slot))?),
    })
}

/// The ruleset that a row of its history holds; `None` if it was deleted then.
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
        ROUTE => Change::PutRoute { route: read(kind, body)? },
        PROVIDER => Change::PutProvider { provider: read(kind, body)? },
        API_TOKEN => Change::PutApiToken { token: read(kind, body)? },
        ALERT => Change::PutAlert { alert: read(kind, body)? },
        WEBHOOK => Change::PutWebhook { webhook: read(kind, body)? },
        ACCESS_APP => Change::PutAccessApp { app: read(kind, body)? },
        LIST => Change::PutList { list: read(kind, body)? },
        RECORD => Change::PutRecord { record: read(kind, body)? },
        HOSTNAME => Change::PutHostname { hostname: read(kind, body)? },
        PACK => Change::PutPack { pack: read(kind, body)? },
        SIGNING_REQUEST => Change::PutSigningRequest { request: read(kind, body)? },
        ACME_ACCOUNT => Change::PutAcmeAccount { account: read(kind, body)? },
        NAME_SERVICE => Change::PutNameService { service: read(kind, body)? },
        _ => return Err(StoreError::Failed(format!("it holds a resource of the unknown kind `{kind}`"))),
    };
    change.apply(resources, revision);
    Ok(())
}

/// The id of the row of what is of a zone or of an account, by which those of a zone stand together.
fn row_id(zone: Option<&ZoneId>, id: impl Display) -> String {
    zone.map_or_else(|| id.to_string(), |zone| format!("{zone}/{id}"))
}

/// The id of a record's row, by which those of a zone stand together.
pub(crate) fn record_row_id(zone: &ZoneId, id: &RecordId) -> String {
    format!("{zone}/{id}")
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
