//! Zones: made, listed, found, changed, deleted.

use std::sync::Arc;

use model::origin_url::OriginUrl;
use model::{
    Account, AccountId, Balance, Declared, HostName, IncomingTransfer, OriginProtocol, Resources,
    RulesetOwner, Zone, ZoneId,
};
use serde::Serialize;
use store::Change;

use super::accounts::{self, Deleted};
use super::dns::own_name_servers;
use super::rulesets_read::{self, revision};
use super::zone_edit::{EditedZone, edit_zone};
use super::zone_filters::{FULL, SECONDARY, filters, type_of};
use super::{rule_input, shapes, zone_holds};
use crate::api::auth::Permission;
use crate::api::auth::scope::ScopeSubject;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError};
use crate::api::input::Fields;
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Kind, Operation, PAGE, PER_PAGE, QueryParameter, ResultKind, Verb,
    new_id,
};

/// Most origins of a zone.
const MAX_ORIGINS: usize = 256;

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: "/zones",
        summary: "Lists the zones that the token may read.",
        permission: Permission::Any,
        query: LIST,
        input: None,
        output: ResultKind::List(shapes::ZONE),
        run: |call| Box::pin(list(call)),
    },
    Operation {
        verb: Verb::Post,
        path: "/zones",
        summary: "Makes a zone, which is served at once.",
        // Of the account that the body names.
        permission: Permission::Any,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::ZONE)),
        output: ResultKind::One(shapes::ZONE),
        run: |call| Box::pin(create(call)),
    },
    Operation {
        verb: Verb::Get,
        path: "/zones/{zone_id}",
        summary: "Shows a zone, by its id or its name.",
        permission: Permission::ZoneRead,
        query: &[],
        input: None,
        output: ResultKind::One(shapes::ZONE),
        run: |call| Box::pin(find(call)),
    },
    Operation {
        verb: Verb::Patch,
        path: "/zones/{zone_id}",
        summary: "Changes properties of a zone.",
        permission: Permission::ZoneWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::ZONE)),
        output: ResultKind::One(shapes::ZONE),
        run: |call| Box::pin(change(call)),
    },
    Operation {
        verb: Verb::Delete,
        path: "/zones/{zone_id}",
        summary: "Deletes a zone with its rulesets.",
        permission: Permission::ZoneWrite,
        query: &[DRY_RUN],
        input: None,
        output: ResultKind::One(shapes::DELETED),
        run: |call| Box::pin(delete(call)),
    },
];

const LIST: &[QueryParameter] = &[
    PAGE,
    PER_PAGE,
    QueryParameter {
        name: "name",
        kind: Kind::Text,
        doc: "The name, or an operator and a part of it: `contains:`, `starts_with:`, `ends_with:`, `not_equal:`, \
              `equal:`.",
    },
    QueryParameter { name: "status", kind: Kind::Text, doc: "Zones are `active`." },
    QueryParameter {
        name: "type",
        kind: Kind::Text,
        doc: "Kinds of zones, with commas between; zones are `full`.",
    },
    QueryParameter { name: "account.id", kind: Kind::Text, doc: "Only those of this account." },
    QueryParameter { name: "account.name", kind: Kind::Text, doc: "Only those of the account of this name." },
    QueryParameter {
        name: "match",
        kind: Kind::Words(&["all", "any"]),
        doc: "Whether all filters must hold, or one.",
    },
    QueryParameter {
        name: "order",
        kind: Kind::Words(&["name", "status", "account.id", "account.name", "plan.id"]),
        doc: "By what the list is sorted.",
    },
    QueryParameter { name: "direction", kind: Kind::Words(&["asc", "desc"]), doc: "Which end is first." },
];

#[derive(Debug, Serialize)]
struct ShownZone<'a> {
    id: &'a str,
    name: &'a str,
    status: &'static str,
    paused: bool,
    r#type: &'static str,
    development_mode: u32,
    name_servers: Vec<String>,
    vanity_name_servers: &'a [String],
    original_name_servers: Option<&'static str>,
    original_registrar: Option<&'static str>,
    original_dnshost: Option<&'static str>,
    modified_on: &'a str,
    created_on: &'a str,
    activated_on: &'a str,
    meta: ZoneMeta,
    owner: Owner<'a>,
    account: Reference<'a>,
    permissions: Vec<&'static str>,
    plan: ZonePlan,
    origins: &'a [String],
    origin_protocol: OriginProtocol,
    balance: Balance,
    #[serde(skip_serializing_if = "Option::is_none")]
    declared_at: Option<String>,
}

#[derive(Debug, Serialize)]
struct ZoneMeta {
    step: u32,
    custom_certificate_quota: u32,
    page_rule_quota: u32,
    phishing_detected: bool,
}

#[derive(Debug, Serialize)]
struct Owner<'a> {
    id: &'a str,
    r#type: &'static str,
    name: String,
}

#[derive(Debug, Serialize)]
struct Reference<'a> {
    id: &'a str,
    name: String,
}

#[derive(Debug, Serialize)]
struct ZonePlan {
    id: &'static str,
    name: &'static str,
    price: u32,
    currency: &'static str,
    frequency: &'static str,
    is_subscribed: bool,
    can_subscribe: bool,
    legacy_id: &'static str,
    legacy_discount: bool,
    externally_managed: bool,
}

const PLAN: ZonePlan = ZonePlan {
    id: "0feeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
    name: "Self-hosted",
    price: 0,
    currency: "USD",
    frequency: "",
    is_subscribed: true,
    can_subscribe: false,
    legacy_id: "enterprise",
    legacy_discount: false,
    externally_managed: false,
};

fn shown<'a>(zone: &'a Declared<Zone>, call: &'a ApiCall, resources: &Resources) -> ShownZone<'a> {
    let modified = call.snapshot.modified.as_str();
    let time = |text: &'a str| if text.is_empty() { modified } else { text };
    let subject = ScopeSubject::Zone(zone.id.clone(), zone.account.clone());
    let may = |permission, name| call.actor.may(permission, &subject).then_some(name);
    let permissions = [
        may(Permission::ZoneRead, "#zone:read"),
        may(Permission::ZoneWrite, "#zone:edit"),
        may(Permission::WafRead, "#waf:read"),
        may(Permission::WafWrite, "#waf:edit"),
    ];
    let account = zone.account.as_str();
    let name_servers = call.snapshot.dns.name_servers.of_zone(&zone.dns);
    ShownZone {
        id: zone.id.as_str(),
        name: &zone.name,
        status: "active",
        paused: false,
        r#type: type_of(zone),
        development_mode: 0,
        name_servers: name_servers.iter().map(ToString::to_string).collect(),
        vanity_name_servers: &zone.dns.vanity_name_servers,
        original_name_servers: None,
        original_registrar: None,
        original_dnshost: None,
        modified_on: time(&zone.modified_on),
        created_on: time(&zone.created_on),
        activated_on: time(&zone.created_on),
        meta: ZoneMeta { step: 4, custom_certificate_quota: 0, page_rule_quota: 0, phishing_detected: false },
        owner: Owner { id: account, r#type: "organization", name: accounts::name(resources, &zone.account) },
        account: Reference { id: account, name: accounts::name(resources, &zone.account) },
        permissions: permissions.into_iter().flatten().collect(),
        plan: PLAN,
        origins: &zone.origins,
        origin_protocol: zone.origin_protocol,
        balance: zone.balance,
        declared_at: zone.place().map(diagnostic::Place::label),
    }
}

async fn list(call: ApiCall) -> Answer {
    let paging = call.paging(20, 1_000)?;
    let resources = &call.snapshot.resources;
    let mut zones: Vec<&Arc<Declared<Zone>>> = resources.zones.values().collect();
    zones.retain(|zone| {
        let subject = ScopeSubject::Zone(zone.id.clone(), zone.account.clone());
        call.actor.may(Permission::ZoneRead, &subject)
    });
    let filters = filters(&call)?;
    let is_any = call.asked("match") == Some("any") && !filters.is_empty();
    zones.retain(|zone| {
        let mut outcomes = filters.iter().map(|filter| filter(zone, resources));
        if is_any { outcomes.any(|holds| holds) } else { outcomes.all(|holds| holds) }
    });
    zones.sort_by(|one, other| match call.asked("order") {
        Some("account.id" | "account.name") => (&one.account, &one.name).cmp(&(&other.account, &other.name)),
        _ => one.name.cmp(&other.name),
    });
    if call.asked("direction") == Some("desc") {
        zones.reverse();
    }
    let (zones, info) = paging.of(zones);
    ApiReply::page(&zones.iter().map(|zone| shown(zone, &call, resources)).collect::<Vec<_>>(), info)
}

async fn find(call: ApiCall) -> Answer {
    let zone = call.zone()?;
    Ok(ApiReply::of(&shown(&zone, &call, &call.snapshot.resources))?.tagged(revision(&zone)))
}

/// Where requests of a zone go, as a body writes it.
#[derive(Clone, Debug, Default)]
struct WrittenZone {
    /// Whether it comes from other name servers.
    is_secondary: Option<bool>,
    origins: Option<Vec<String>>,
    origin_protocol: Option<OriginProtocol>,
    balance: Option<Balance>,
}

fn written(fields: &Fields<'_>) -> WrittenZone {
    let origins = fields.texts("origins");
    if origins.as_ref().is_some_and(|origins| origins.len() > MAX_ORIGINS) {
        fields.refuse(error::ZONE_PROPERTY, "origins", format!("a zone has at most {MAX_ORIGINS} origins"));
    }
    for (nth, origin) in origins.iter().flatten().enumerate() {
        if let Err(message) = OriginUrl::parse(origin).and_then(OriginUrl::without_path) {
            fields.refuse(error::ZONE_PROPERTY, &format!("origins/{nth}"), message);
        }
    }
    if fields.bool("paused") == Some(true) {
        fields.refuse(error::ZONE_PROPERTY, "paused", "a zone cannot be paused; delete it instead");
    }
    let is_secondary = fields.text("type").map(|kind| kind == SECONDARY);
    if fields.text("type").is_some_and(|kind| ![FULL, SECONDARY].contains(&kind)) {
        fields.refuse(error::ZONE_PROPERTY, "type", "zones are of the type `full` or `secondary`");
    }
    WrittenZone {
        is_secondary,
        origins,
        origin_protocol: fields.word("origin_protocol", error::ZONE_PROPERTY),
        balance: fields.word("balance", error::ZONE_PROPERTY),
    }
}

async fn create(call: ApiCall) -> Answer {
    let ((name, account, written), unknown) = rule_input::read(&call.body, |fields| {
        fields.ignore(&["jump_start", "id", "plan", "vanity_name_servers"]);
        let name = fields.required_text("name").and_then(|name| match HostName::parse_international(name) {
            Ok(name) => Some(name),
            Err(message) => {
                fields.refuse(error::INVALID_ZONE_NAME, "name", message);
                None
            }
        });
        let account = fields.object("account").and_then(|account| {
            account.ignore(&["name"]);
            account.text("id").map(AccountId::new)
        });
        let account = account.unwrap_or_else(|| AccountId::new(Account::DEFAULT));
        let written = written(fields);
        Some((name?, account, written))
    })?;
    call.actor.check(Permission::ZoneWrite, &ScopeSubject::Account(account.clone()))?;
    if !accounts::exists(&call.snapshot.resources, &account) {
        let message = format!("there is no account `{account}`; `GET /accounts` lists them");
        return Err(ApiError::at(error::BAD_FIELD, "/account/id", message).into());
    }
    let defaults = call.snapshot.resources.accounts.get(&account).and_then(|account| account.dns.as_ref());
    let dns = defaults.map(|dns| dns.zone_defaults.clone()).unwrap_or_default();
    let zone = Zone {
        origins: written.origins.unwrap_or_default(),
        balance: written.balance.unwrap_or_default(),
        origin_protocol: written.origin_protocol.unwrap_or_default(),
        dns,
        incoming: match written.is_secondary {
            Some(true) => Some(Box::new(IncomingTransfer::new(new_id()?, &call.now))),
            _ => None,
        },
        created_on: call.now.clone(),
        modified_on: call.now.clone(),
        ..Zone::new(ZoneId::new(new_id()?), account, name.to_string())
    };
    let put = zone.clone();
    let applied = call
        .write(move |resources| {
            zone_holds::check(resources, &put.account, &put.name, &put.created_on)?;
            if resources.zones.named(&put.name).is_some() {
                let message = format!("{} already exists", put.name);
                return Err(ApiError::at(error::ZONE_EXISTS, "/name", message).into());
            }
            Ok(vec![Change::PutZone { zone: Box::new(put.clone()) }])
        })
        .await?;
    reply(&call, &applied.resources, &zone.id, unknown)
}

async fn change(call: ApiCall) -> Answer {
    let ((body, own_names), unknown) = rule_input::read(&call.body, |fields| {
        fields.ignore(&["id", "name", "account", "plan"]);
        Some((written(fields), fields.texts("vanity_name_servers")))
    })?;
    let zone = call.zone()?;
    let own_names = match own_names {
        Some(names) => Some(own_name_servers::checked(&names, &zone, &call.snapshot.resources)?),
        None => None,
    };
    let EditedZone { zone, applied } = edit_zone(&call, move |known| {
        if body.is_secondary.is_some_and(|is_secondary| is_secondary != known.incoming.is_some()) {
            let message =
                "the type of a zone follows from who it comes from; change `secondary_dns/incoming`";
            return Err(ApiError::at(error::ZONE_PROPERTY, "/type", message).into());
        }
        Ok(Zone {
            origins: body.origins.clone().unwrap_or_else(|| known.origins.clone()),
            origin_protocol: body.origin_protocol.unwrap_or(known.origin_protocol),
            balance: body.balance.unwrap_or(known.balance),
            dns: match &own_names {
                Some(names) => own_name_servers::with_names(&known.dns, names),
                None => known.dns.clone(),
            },
            ..known.clone()
        })
    })
    .await?;
    reply(&call, &applied.resources, &zone.id, unknown)
}

fn reply(call: &ApiCall, resources: &Resources, id: &ZoneId, unknown: Vec<String>) -> Answer {
    let zone = resources.zones.get(id).ok_or_else(|| ApiError::unknown(&call.path))?;
    Ok(ApiReply::of(&shown(zone, call, resources))?.tagged(revision(zone)).passing_over(unknown))
}

async fn delete(call: ApiCall) -> Answer {
    let (id, path, precondition) = (call.zone()?.id.clone(), call.path.clone(), call.precondition());
    let of = id.clone();
    call.write(move |resources| {
        let known = resources.zones.get(&of).ok_or_else(|| ApiError::unknown(&path))?;
        precondition.check(revision(known))?;
        let mut changes = rulesets_read::deletions(resources, &RulesetOwner::Zone(of.clone()));
        changes.push(Change::DeleteZone { id: of.clone() });
        Ok(changes)
    })
    .await?;
    ApiReply::of(&Deleted { id: id.as_str() })
}
