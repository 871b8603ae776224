//! Accounts: those that were made over the API, and those that files name.

use std::collections::{BTreeMap, BTreeSet};

use model::dns_settings::AccountDnsSettings;
use model::{Account, AccountId, Declared, Resources, RulesetOwner, ZoneId};
use serde::Serialize;
use store::Change;

use super::dns::settings;
use super::rulesets_read::{self, revision};
use super::{rule_input, shapes};
use crate::api::auth::Permission;
use crate::api::auth::scope::ScopeSubject;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Kind, Operation, PAGE, PER_PAGE, QueryParameter, ResultKind, Verb,
    new_id,
};

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: "/accounts",
        summary: "Lists the accounts that the token may read.",
        permission: Permission::Any,
        query: &[
            PAGE,
            PER_PAGE,
            QueryParameter { name: "name", kind: Kind::Text, doc: "Only those of this name." },
            QueryParameter { name: "direction", kind: Kind::Words(&["asc", "desc"]), doc: "By id." },
        ],
        input: None,
        output: ResultKind::List(shapes::ACCOUNT),
        run: |call| Box::pin(list(call)),
    },
    Operation {
        verb: Verb::Post,
        path: "/accounts",
        summary: "Makes an account.",
        permission: Permission::AccountWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::ACCOUNT)),
        output: ResultKind::One(shapes::ACCOUNT),
        run: |call| Box::pin(create(call)),
    },
    Operation {
        verb: Verb::Get,
        path: "/accounts/{account_id}",
        summary: "Shows an account.",
        permission: Permission::AccountRead,
        query: &[],
        input: None,
        output: ResultKind::One(shapes::ACCOUNT),
        run: |call| Box::pin(find(call)),
    },
    Operation {
        verb: Verb::Put,
        path: "/accounts/{account_id}",
        summary: "Changes the name of an account.",
        permission: Permission::AccountWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::ACCOUNT)),
        output: ResultKind::One(shapes::ACCOUNT),
        run: |call| Box::pin(rename(call)),
    },
    Operation {
        verb: Verb::Delete,
        path: "/accounts/{account_id}",
        summary: "Deletes an account without zones and gateways.",
        permission: Permission::AccountWrite,
        query: &[DRY_RUN],
        input: None,
        output: ResultKind::One(shapes::DELETED),
        run: |call| Box::pin(delete(call)),
    },
];

#[derive(Debug, Serialize)]
struct ShownAccount<'a> {
    id: &'a str,
    name: &'a str,
    r#type: &'static str,
    settings: AccountSettings<'a>,
    #[serde(skip_serializing_if = "str::is_empty")]
    created_on: &'a str,
}

#[derive(Debug, Serialize)]
struct AccountSettings<'a> {
    enforce_twofactor: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_nameservers: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    use_account_custom_ns_by_default: Option<bool>,
}

/// The row about the fields of name servers in the settings of an account.
const NAMESERVER_FIELDS: &str = "account-nameserver-fields";
/// The name servers that zones get which have those of the account, and those that have not.
const OF_ACCOUNT: &str = "custom.account";
const STANDARD: &str = "svc.standard";

fn shown<'a>(account: &'a Account, call: &ApiCall) -> ShownAccount<'a> {
    let kind = account.dns.as_ref().map_or(OF_ACCOUNT, |dns| &dns.zone_defaults.nameservers.r#type);
    let kind = call.shows_old(NAMESERVER_FIELDS).then_some(kind);
    ShownAccount {
        id: account.id.as_str(),
        name: &account.name,
        r#type: "standard",
        settings: AccountSettings {
            enforce_twofactor: false,
            default_nameservers: kind,
            use_account_custom_ns_by_default: kind.map(|kind| kind == OF_ACCOUNT),
        },
        created_on: &account.created_on,
    }
}

/// An account that only other resources name.
fn named(id: &AccountId) -> Account {
    Account {
        id: id.clone(),
        name: id.to_string(),
        created_on: String::new(),
        dns: None,
        transfers: None,
        deprecations: None,
    }
}

/// Accounts that other resources name, some of them again and again.
fn names(resources: &Resources) -> impl Iterator<Item = &AccountId> {
    let of_rulesets = resources.rulesets.keys().filter_map(|(owner, _)| match owner {
        RulesetOwner::Account(account) => Some(account),
        RulesetOwner::Zone(_) => None,
    });
    let of_zones = resources.zones.values().map(|zone| &zone.account);
    resources.gateways.keys().map(|(account, _)| account).chain(of_zones).chain(of_rulesets)
}

/// Every account: the default one, those that other resources name, and those that were made.
fn all(resources: &Resources) -> BTreeMap<AccountId, Account> {
    let default = AccountId::new(Account::DEFAULT);
    let ids: BTreeSet<&AccountId> = names(resources).chain([&default]).collect();
    let mut all: BTreeMap<_, _> = ids.into_iter().map(|id| (id.clone(), named(id))).collect();
    all.extend(resources.accounts.values().map(|account| (account.id.clone(), account.value.clone())));
    all
}

/// An account, also one that only other resources name.
pub(super) fn find_account(resources: &Resources, id: &AccountId) -> Option<Account> {
    let made = resources.accounts.get(id).map(|account| account.value.clone());
    made.or_else(|| exists(resources, id).then(|| named(id)))
}

/// The name of an account.
pub(super) fn name(resources: &Resources, id: &AccountId) -> String {
    resources.accounts.get(id).map_or_else(|| id.to_string(), |account| account.name.clone())
}

/// Whether there is an account of this id.
pub(super) fn exists(resources: &Resources, id: &AccountId) -> bool {
    id.as_str() == Account::DEFAULT
        || resources.accounts.contains_key(id)
        || names(resources).any(|known| known == id)
}

/// The account of a path, with its zone if it is one of a zone.
///
/// # Errors
/// If there is no such account or zone.
pub(super) fn owner_of_path(call: &ApiCall) -> Result<(AccountId, Option<ZoneId>), ApiErrors> {
    match call.subject() {
        ScopeSubject::Zone(zone, account) => Ok((account, Some(zone))),
        ScopeSubject::Account(account) if exists(&call.snapshot.resources, &account) => Ok((account, None)),
        _ => Err(ApiError::unknown(&call.path).into()),
    }
}

async fn list(call: ApiCall) -> Answer {
    let paging = call.paging(20, 50)?;
    let mut accounts: Vec<Account> = all(&call.snapshot.resources).into_values().collect();
    accounts.retain(|account| {
        let may_read = call.actor.may(Permission::AccountRead, &ScopeSubject::Account(account.id.clone()));
        may_read && call.asked("name").is_none_or(|name| account.name == name)
    });
    if call.asked("direction") == Some("desc") {
        accounts.reverse();
    }
    let (accounts, info) = paging.of(accounts);
    ApiReply::page(&accounts.iter().map(|account| shown(account, &call)).collect::<Vec<_>>(), info)
}

pub(super) async fn find(call: ApiCall) -> Answer {
    let found = all(&call.snapshot.resources).remove(&call.account());
    let account = found.ok_or_else(|| ApiError::unknown(&call.path))?;
    let stored = call.snapshot.resources.accounts.get(&account.id);
    Ok(ApiReply::of(&shown(&account, &call))?.tagged(stored.and_then(revision)))
}

/// What the settings of a body say of the name servers of new zones, in fields that end.
#[derive(Clone, Debug, Default)]
struct OldNameservers {
    kind: Option<String>,
    are_of_account: Option<bool>,
}

fn nameservers(fields: &Fields<'_>) -> OldNameservers {
    let Some(settings) = fields.object("settings") else { return OldNameservers::default() };
    settings.ignore(&["enforce_twofactor", "abuse_contact_email"]);
    let kind = settings.text("default_nameservers").and_then(|kind| {
        let known = settings::set_of(kind, &settings::SETS_OF_ACCOUNTS);
        if known.is_none() {
            let message =
                format!("expected one of {}, found `{kind:.40}`", settings::SETS_OF_ACCOUNTS.join(", "));
            settings.refuse(error::BAD_FIELD, "default_nameservers", message);
        }
        known.map(str::to_owned)
    });
    OldNameservers { kind, are_of_account: settings.bool("use_account_custom_ns_by_default") }
}

impl OldNameservers {
    /// The account with what they say. The name of the set wins over the switch, which has two of the sets.
    fn apply(&self, mut account: Account) -> Account {
        let mut dns = account.dns.take().unwrap_or_default();
        let kind = &mut dns.zone_defaults.nameservers.r#type;
        match (&self.kind, self.are_of_account) {
            (Some(named), _) => kind.clone_from(named),
            (None, Some(true)) => OF_ACCOUNT.clone_into(kind),
            (None, Some(false)) if kind == OF_ACCOUNT => STANDARD.clone_into(kind),
            (None, _) => {}
        }
        let is_default = *dns == AccountDnsSettings::default();
        Account { dns: (!is_default).then_some(dns), ..account }
    }
}

async fn create(call: ApiCall) -> Answer {
    let ((name, nameservers), unknown) = rule_input::read(&call.body, |fields| {
        fields.ignore(&["type", "unit"]);
        let nameservers = nameservers(fields);
        Some((fields.required_text("name")?.to_owned(), nameservers))
    })?;
    let account = Account {
        id: AccountId::new(new_id()?),
        name,
        created_on: call.now.clone(),
        dns: None,
        transfers: None,
        deprecations: None,
    };
    let account = nameservers.apply(account);
    let put = account.clone();
    call.write(move |_| Ok(vec![Change::PutAccount { account: put.clone() }])).await?;
    Ok(ApiReply::of(&shown(&account, &call))?.passing_over(unknown))
}

pub(super) async fn rename(call: ApiCall) -> Answer {
    let ((name, nameservers), unknown) = rule_input::read(&call.body, |fields| {
        fields.ignore(&["id", "type", "created_on"]);
        let nameservers = nameservers(fields);
        Some((fields.required_text("name")?.to_owned(), nameservers))
    })?;
    let (id, path, precondition) = (call.account(), call.path.clone(), call.precondition());
    let of = id.clone();
    let applied = call
        .write(move |resources| {
            let known = all(resources).remove(&of).ok_or_else(|| ApiError::unknown(&path))?;
            precondition.check(resources.accounts.get(&of).and_then(revision))?;
            let account = nameservers.apply(Account { name: name.clone(), ..known.clone() });
            let is_same = account == known && resources.accounts.contains_key(&of);
            Ok(if is_same { Vec::new() } else { vec![Change::PutAccount { account }] })
        })
        .await?;
    let account = applied.resources.accounts.get(&id).ok_or_else(|| ApiError::unknown(&call.path))?;
    Ok(ApiReply::of(&shown(account, &call))?.tagged(revision(account)).passing_over(unknown))
}

#[derive(Debug, Serialize)]
pub(super) struct Deleted<'a> {
    pub(super) id: &'a str,
}

async fn delete(call: ApiCall) -> Answer {
    let (id, path) = (call.account(), call.path.clone());
    let of = id.clone();
    call.write(move |resources| {
        let zones = resources.zones.values().filter(|zone| zone.account == of).count();
        let gateways = resources.gateways.keys().filter(|(account, _)| *account == of).count();
        if zones + gateways > 0 {
            let message =
                format!("the account `{of}` has {zones} zones and {gateways} gateways; delete them first");
            return Err(ApiError::new(error::CONFLICT, message).into());
        }
        let known: &Declared<Account> =
            resources.accounts.get(&of).ok_or_else(|| ApiError::unknown(&path))?;
        let mut changes = rulesets_read::deletions(resources, &RulesetOwner::Account(of.clone()));
        changes.extend(deletions(resources, &of));
        changes.push(Change::DeleteAccount { id: known.id.clone() });
        Ok(changes)
    })
    .await?;
    ApiReply::of(&Deleted { id: id.as_str() })
}

/// Deletes what an account has beside its rulesets: none of it is for who has its identifier next.
fn deletions(resources: &Resources, account: &AccountId) -> Vec<Change> {
    let requests = resources.signing_requests.values().filter(|request| request.account == *account);
    let apps = resources.access_apps.values().filter(|app| app.account == *account);
    let alerts = resources.alerts.values().filter(|alert| alert.account == *account);
    let webhooks = resources.webhooks.values().filter(|webhook| webhook.account == *account);
    let lists = resources.lists.values().filter(|list| list.account == *account);
    let requests =
        requests.map(|request| Change::DeleteSigningRequest { zone: request.zone.clone(), id: request.id });
    let apps = apps.map(|app| Change::DeleteAccessApp { zone: app.zone.clone(), id: app.id.clone() });
    let alerts = alerts.map(|alert| Change::DeleteAlert { id: alert.id.clone() });
    let webhooks = webhooks.map(|webhook| Change::DeleteWebhook { id: webhook.id.clone() });
    let lists = lists.map(|list| Change::DeleteList { account: account.clone(), id: list.id.clone() });
    requests.chain(apps).chain(alerts).chain(webhooks).chain(lists).collect()
}
