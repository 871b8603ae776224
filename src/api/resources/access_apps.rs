//! Access applications of accounts and zones (spec, "Access application"): kept and shown, the old list of domains beside
//! the destinations that took its place.

use model::access_app::{AccessApp, AccessDestination, DestinationKind};
use model::{AccountId, Declared, Resources, ZoneId};
use serde::Serialize;
use store::Change;

use super::accounts::{Deleted, owner_of_path};
use super::rulesets_read::revision;
use super::{rule_input, shapes};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Kind, ObjectShape, Operation, PAGE, PER_PAGE, QueryParameter,
    ResultKind, Running, Verb, field, new_uuid, required,
};

/// The row about `self_hosted_domains`.
const SELF_HOSTED_DOMAINS: &str = "access-self-hosted-domains";
/// Most destinations of an application, and their length.
const MAX_DESTINATIONS: usize = 100;
const MAX_URI: usize = 2_048;
/// Most applications of an account with its zones.
const MAX_APPS: usize = 1_000;

const fn operation(
    verb: Verb,
    path: &'static str,
    summary: &'static str,
    permission: Permission,
    output: ResultKind,
    run: fn(ApiCall) -> Running,
) -> Operation {
    let query: &[QueryParameter] = match (verb, output) {
        (Verb::Get, ResultKind::List(_)) => &[PAGE, PER_PAGE],
        (Verb::Get, _) => &[],
        _ => &[DRY_RUN],
    };
    let input = match verb {
        Verb::Get | Verb::Delete => None,
        _ => Some(InputShape::Object(ACCESS_APP)),
    };
    Operation { verb, path, summary, permission, query, input, output, run }
}

/// The operations of an owner, whose path is `$owner`.
macro_rules! operations {
    ($owner:literal, $read:ident, $write:ident) => {
        [
            operation(
                Verb::Get,
                concat!($owner, "/access/apps"),
                "Lists access applications.",
                Permission::$read,
                ResultKind::List(ACCESS_APP),
                |call| Box::pin(list(call)),
            ),
            operation(
                Verb::Post,
                concat!($owner, "/access/apps"),
                "Makes an access application, which is kept and shown.",
                Permission::$write,
                ResultKind::One(ACCESS_APP),
                |call| Box::pin(create(call)),
            ),
            operation(
                Verb::Get,
                concat!($owner, "/access/apps/{app_id}"),
                "Shows an access application.",
                Permission::$read,
                ResultKind::One(ACCESS_APP),
                |call| Box::pin(find(call)),
            ),
            operation(
                Verb::Put,
                concat!($owner, "/access/apps/{app_id}"),
                "Replaces an access application.",
                Permission::$write,
                ResultKind::One(ACCESS_APP),
                |call| Box::pin(replace(call)),
            ),
            operation(
                Verb::Delete,
                concat!($owner, "/access/apps/{app_id}"),
                "Deletes an access application.",
                Permission::$write,
                ResultKind::One(shapes::DELETED),
                |call| Box::pin(delete(call)),
            ),
        ]
    };
}

pub(super) const OF_ACCOUNTS: &[Operation] =
    operations!("/accounts/{account_id}", AccountRead, AccountWrite).as_slice();
pub(super) const OF_ZONES: &[Operation] = operations!("/zones/{zone_id}", ZoneRead, ZoneWrite).as_slice();

const ACCESS_APP: &ObjectShape = &ObjectShape {
    name: "AccessApp",
    fields: &[
        field("id", Kind::Text, "Identifier (UUID)."),
        required("name", Kind::Text, "What it is called."),
        field("type", Kind::Words(&["self_hosted"]), "What it is."),
        field("self_hosted_domains", Kind::Texts, "Public destinations, in the form that ends."),
        field("destinations", Kind::Objects(ACCESS_DESTINATION), "Where it is reached."),
        field("created_at", Kind::Text, "When it was made (RFC 3339)."),
        field("updated_at", Kind::Text, "When it was last changed (RFC 3339)."),
    ],
};

const ACCESS_DESTINATION: &ObjectShape = &ObjectShape {
    name: "AccessDestination",
    fields: &[
        field("type", Kind::Words(&["public", "private"]), "Who reaches it."),
        required("uri", Kind::Text, "A host, with a path or without."),
    ],
};

#[derive(Debug, Serialize)]
struct ShownApp<'a> {
    id: &'a str,
    name: &'a str,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    self_hosted_domains: Option<Vec<&'a str>>,
    destinations: &'a [AccessDestination],
    created_at: &'a str,
    updated_at: &'a str,
}

fn shown<'a>(app: &'a AccessApp, call: &ApiCall) -> ShownApp<'a> {
    let public = app.destinations.iter().filter(|destination| destination.r#type == DestinationKind::Public);
    let domains = public.map(|destination| destination.uri.as_str());
    ShownApp {
        id: &app.id,
        name: &app.name,
        r#type: "self_hosted",
        self_hosted_domains: call.shows_old(SELF_HOSTED_DOMAINS).then(|| domains.collect()),
        destinations: &app.destinations,
        created_at: &app.created_at,
        updated_at: &app.updated_at,
    }
}

fn app<'r>(
    resources: &'r Resources,
    (account, zone): &(AccountId, Option<ZoneId>),
    id: &str,
) -> Result<&'r Declared<AccessApp>, ApiErrors> {
    let found = resources.access_apps.get(id).filter(|app| app.account == *account && app.zone == *zone);
    let missing =
        || ApiError::new(error::NOT_FOUND, format!("there is no access application `{id:.60}`")).into();
    found.ok_or_else(missing)
}

async fn list(call: ApiCall) -> Answer {
    let (account, zone) = owner_of_path(&call)?;
    let apps = call.snapshot.resources.access_apps.values();
    let mut mine: Vec<&AccessApp> =
        apps.map(|app| &app.value).filter(|app| app.account == account && app.zone == zone).collect();
    mine.sort_by(|one, other| (&one.created_at, &one.id).cmp(&(&other.created_at, &other.id)));
    let (mine, info) = call.paging(25, 1_000)?.of(mine);
    ApiReply::page(&mine.iter().map(|app| shown(app, &call)).collect::<Vec<_>>(), info)
}

async fn find(call: ApiCall) -> Answer {
    let app = app(&call.snapshot.resources, &owner_of_path(&call)?, call.parameter("app_id"))?;
    Ok(ApiReply::of(&shown(app, &call))?.tagged(revision(app)))
}

/// Name and destinations as a body writes them.
type WrittenApp = (String, Vec<AccessDestination>);

fn written(fields: &Fields<'_>) -> Option<WrittenApp> {
    fields.ignore(&["id", "created_at", "updated_at", "domain"]);
    let name = fields.required_text("name");
    if let Some(kind) = fields.text("type").filter(|kind| *kind != "self_hosted") {
        let message = format!("expected `self_hosted`, found `{kind:.40}`");
        fields.refuse(error::BAD_FIELD, "type", message);
    }
    let check = |fields: &Fields<'_>, field: &str, uri: &str| {
        if uri.is_empty() || uri.len() > MAX_URI || uri.contains(char::is_control) {
            let message = format!("expected a host with or without a path, of at most {MAX_URI} bytes");
            fields.refuse(error::BAD_FIELD, field, message);
        }
    };
    let of_list = fields.objects("destinations").map(|list| {
        let destination = |fields: &Fields<'_>| {
            let uri = fields.required_text("uri")?;
            check(fields, "uri", uri);
            let kind = match fields.value("type") {
                None => Some(DestinationKind::Public),
                Some(_) => fields.word("type", error::BAD_FIELD),
            };
            Some(AccessDestination { r#type: kind?, uri: uri.to_owned() })
        };
        list.iter().filter_map(destination).collect::<Vec<_>>()
    });
    let domains = fields.texts("self_hosted_domains").map(|domains| {
        // Beside destinations they mean nothing.
        if of_list.is_none() {
            for (nth, uri) in domains.iter().enumerate() {
                check(fields, &format!("self_hosted_domains/{nth}"), uri);
            }
        }
        let public = |uri| AccessDestination { r#type: DestinationKind::Public, uri };
        domains.into_iter().map(public).collect()
    });
    let destinations = of_list.or(domains).unwrap_or_default();
    if destinations.len() > MAX_DESTINATIONS {
        let message = format!("an application has at most {MAX_DESTINATIONS} destinations");
        fields.refuse(error::BAD_FIELD, "destinations", message);
    }
    Some((name?.to_owned(), destinations))
}

async fn create(call: ApiCall) -> Answer {
    let (account, zone) = owner_of_path(&call)?;
    let ((name, destinations), unknown) = rule_input::read(&call.body, written)?;
    let made = AccessApp {
        id: new_uuid()?.to_string(),
        account,
        zone,
        name,
        destinations,
        created_at: call.now.clone(),
        updated_at: call.now.clone(),
    };
    let put = made.clone();
    let applied = call
        .write(move |resources| {
            let of_account = resources.access_apps.values().filter(|app| app.account == put.account);
            if of_account.count() >= MAX_APPS {
                let message = format!(
                    "the account has {MAX_APPS} access applications, which is as many as there can be"
                );
                return Err(ApiError::new(error::CONFLICT, message).into());
            }
            Ok(vec![Change::PutAccessApp { app: put.clone() }])
        })
        .await?;
    let stored = applied.resources.access_apps.get(&made.id);
    let tag = stored.and_then(revision);
    Ok(ApiReply::of(&shown(&made, &call))?.tagged(tag).passing_over(unknown))
}

async fn replace(call: ApiCall) -> Answer {
    let owner = owner_of_path(&call)?;
    let ((name, destinations), unknown) = rule_input::read(&call.body, written)?;
    let (id, now, precondition) =
        (call.parameter("app_id").to_owned(), call.now.clone(), call.precondition());
    let (of, whose) = (id.clone(), owner.clone());
    let applied = call
        .write(move |resources| {
            let known = app(resources, &whose, &of)?;
            precondition.check(revision(known))?;
            let put =
                AccessApp { name: name.clone(), destinations: destinations.clone(), ..known.value.clone() };
            if put == known.value {
                return Ok(Vec::new());
            }
            Ok(vec![Change::PutAccessApp { app: AccessApp { updated_at: now.clone(), ..put } }])
        })
        .await?;
    let app = app(&applied.resources, &owner, &id)?;
    Ok(ApiReply::of(&shown(app, &call))?.tagged(revision(app)).passing_over(unknown))
}

async fn delete(call: ApiCall) -> Answer {
    let (owner, id) = (owner_of_path(&call)?, call.parameter("app_id").to_owned());
    let (of, precondition) = (id.clone(), call.precondition());
    call.write(move |resources| {
        let known = app(resources, &owner, &of)?;
        precondition.check(revision(known))?;
        Ok(vec![Change::DeleteAccessApp { zone: owner.1.clone(), id: of.clone() }])
    })
    .await?;
    ApiReply::of(&Deleted { id: &id })
}
