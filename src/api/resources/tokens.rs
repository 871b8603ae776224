//! Tokens of the API: made and shown once, listed, changed, rolled, deleted.

use gateway::token::TokenHash;
use model::api_token::{ApiToken, Policy};
use model::{Declared, DeprecationSettings, Resources, TokenId};
use serde::Serialize;
use serde_json::Value;
use store::Change;

use super::accounts::Deleted;
use super::deprecations;
use super::rulesets_read::revision;
use super::user::time;
use super::{rule_input, shapes};
use crate::api::auth::actor::Actor;
use crate::api::auth::scope::Scope;
use crate::api::auth::{PREFIX, Permission};
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Operation, PAGE, PER_PAGE, QueryParameter, ResultKind, Running,
    Verb, new_id,
};
use crate::conf::DeprecationCalendar;

const WRITE: &[QueryParameter] = &[DRY_RUN];

const fn operation(
    verb: Verb,
    path: &'static str,
    summary: &'static str,
    input: Option<InputShape>,
    output: ResultKind,
    run: fn(ApiCall) -> Running,
) -> Operation {
    let (permission, query) = match verb {
        Verb::Get => (Permission::TokensRead, &[PAGE, PER_PAGE] as &[QueryParameter]),
        _ => (Permission::TokensWrite, WRITE),
    };
    Operation { verb, path, summary, permission, query, input, output, run }
}

const ONE: ResultKind = ResultKind::One(shapes::API_TOKEN);

pub(super) const OPERATIONS: &[Operation] = &[
    operation(
        Verb::Get,
        "/user/tokens",
        "Lists the tokens of the API.",
        None,
        ResultKind::List(shapes::API_TOKEN),
        |call| Box::pin(list(call)),
    ),
    operation(
        Verb::Post,
        "/user/tokens",
        "Makes a token; its value is in this answer only.",
        Some(InputShape::Object(shapes::API_TOKEN)),
        ONE,
        |call| Box::pin(create(call)),
    ),
    operation(Verb::Get, "/user/tokens/{token_id}", "Shows a token.", None, ONE, |call| Box::pin(find(call))),
    operation(
        Verb::Put,
        "/user/tokens/{token_id}",
        "Replaces what a token may do.",
        Some(InputShape::Object(shapes::API_TOKEN)),
        ONE,
        |call| Box::pin(replace(call)),
    ),
    operation(
        Verb::Put,
        "/user/tokens/{token_id}/value",
        "Gives a token a new value; the old one ends at once.",
        None,
        ResultKind::Value,
        |call| Box::pin(roll(call)),
    ),
    operation(
        Verb::Delete,
        "/user/tokens/{token_id}",
        "Deletes a token; it is refused from the next request on.",
        None,
        ResultKind::One(shapes::DELETED),
        |call| Box::pin(delete(call)),
    ),
];

#[derive(Debug, Serialize)]
struct ShownApiToken<'a> {
    id: &'a str,
    name: &'a str,
    status: &'static str,
    issued_on: &'a str,
    modified_on: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_on: Option<String>,
    policies: Vec<ShownPolicy<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<Condition<'a>>,
    #[serde(skip_serializing_if = "DeprecationSettings::is_empty")]
    deprecations: &'a DeprecationSettings,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct ShownPolicy<'a> {
    id: &'a str,
    effect: &'static str,
    permission_groups: Vec<ShownGroup<'a>>,
    resources: serde_json::Map<String, Value>,
}

#[derive(Debug, Serialize)]
struct ShownGroup<'a> {
    id: &'a str,
    name: &'static str,
}

#[derive(Debug, Serialize)]
struct Condition<'a> {
    request_ip: RequestIp<'a>,
}

#[derive(Debug, Serialize)]
struct RequestIp<'a> {
    r#in: &'a [String],
    not_in: &'a [String],
}

fn shown<'a>(token: &'a ApiToken, now: u64, value: Option<&'a str>) -> ShownApiToken<'a> {
    let policy = |policy: &'a Policy| ShownPolicy {
        id: &policy.id,
        effect: if policy.denies { "deny" } else { "allow" },
        permission_groups: policy
            .permission_groups
            .iter()
            .map(|id| ShownGroup { id, name: Permission::of_id(id).map_or("", Permission::name) })
            .collect(),
        resources: policy.resources.iter().map(|name| (name.clone(), Value::from("*"))).collect(),
    };
    let has_condition = !token.clients.is_empty() || !token.refused_clients.is_empty();
    ShownApiToken {
        id: token.id.as_str(),
        name: &token.name,
        status: match token.expires_on {
            _ if token.is_disabled => "disabled",
            Some(until) if until <= now => "expired",
            _ => "active",
        },
        issued_on: &token.issued_on,
        modified_on: &token.modified_on,
        not_before: token.not_before.map(time),
        expires_on: token.expires_on.map(time),
        policies: token.policies.iter().map(policy).collect(),
        condition: has_condition.then(|| Condition {
            request_ip: RequestIp { r#in: &token.clients, not_in: &token.refused_clients },
        }),
        deprecations: &token.deprecations,
        value,
    }
}

/// What a body says of a token.
#[derive(Clone, Debug)]
struct WrittenToken {
    name: String,
    is_disabled: bool,
    policies: Vec<Policy>,
    not_before: Option<u64>,
    expires_on: Option<u64>,
    clients: Vec<String>,
    refused_clients: Vec<String>,
    deprecations: DeprecationSettings,
}

fn written(fields: &Fields<'_>, calendar: &DeprecationCalendar) -> Option<WrittenToken> {
    fields.ignore(&["id", "issued_on", "modified_on", "last_used_on", "value"]);
    let name = fields.required_text("name").map(str::to_owned);
    let is_disabled = match fields.text("status") {
        None | Some("active") => false,
        Some("disabled") => true,
        Some(other) => {
            let message = format!("expected `active` or `disabled`, found `{other}`");
            fields.refuse(error::BAD_FIELD, "status", message);
            false
        }
    };
    let policies = fields.objects("policies");
    if policies.as_ref().is_none_or(Vec::is_empty) {
        fields.refuse(error::BAD_FIELD, "policies", "a token needs at least one policy");
    }
    let policies = policies.unwrap_or_default().iter().map(policy).collect();
    let request_ip = fields.object("condition").and_then(|condition| condition.object("request_ip"));
    let networks = |name: &'static str| {
        let request_ip = request_ip.as_ref()?;
        Some(
            request_ip.texts(name)?.into_iter().filter_map(|text| network(request_ip, name, &text)).collect(),
        )
    };
    Some(WrittenToken {
        clients: networks("in").unwrap_or_default(),
        refused_clients: networks("not_in").unwrap_or_default(),
        deprecations: deprecations::settings(fields, calendar),
        not_before: moment(fields, "not_before"),
        expires_on: moment(fields, "expires_on"),
        name: name?,
        is_disabled,
        policies,
    })
}

/// A network or an address, as a network.
fn network(fields: &Fields<'_>, name: &str, text: &str) -> Option<String> {
    let network = text.parse::<ipnet::IpNet>().ok();
    let network = network.or_else(|| text.parse::<std::net::IpAddr>().ok().map(ipnet::IpNet::from));
    if network.is_none() {
        let message = format!("expected a network such as `192.0.2.0/24`, found `{text}`");
        fields.refuse(error::BAD_FIELD, name, message);
    }
    network.map(|network| network.to_string())
}

/// A time (RFC 3339) in seconds since the epoch.
pub(super) fn moment(fields: &Fields<'_>, name: &'static str) -> Option<u64> {
    let text = fields.text(name)?;
    let seconds = text.parse::<jiff::Timestamp>().ok().and_then(|at| u64::try_from(at.as_second()).ok());
    if seconds.is_none() {
        let message = format!("expected a time such as `2030-01-31T00:00:00Z`, found `{text}`");
        fields.refuse(error::BAD_FIELD, name, message);
    }
    seconds
}

fn policy(fields: &Fields<'_>) -> Policy {
    fields.ignore(&["id"]);
    let denies = match fields.text("effect") {
        Some("allow") => false,
        Some("deny") => true,
        other => {
            let message = format!("expected `allow` or `deny`, found `{}`", other.unwrap_or(""));
            fields.refuse(error::BAD_FIELD, "effect", message);
            true
        }
    };
    let mut groups = Vec::new();
    for group in fields.objects("permission_groups").unwrap_or_default() {
        group.ignore(&["name", "meta"]);
        let id = group.required_text("id").unwrap_or("");
        if Permission::of_id(id).is_none() {
            let message = format!("unknown group `{id}`; `/user/tokens/permission_groups` lists them");
            group.refuse(error::BAD_FIELD, "id", message);
        }
        groups.push(id.to_owned());
    }
    if groups.is_empty() {
        fields.refuse(error::BAD_FIELD, "permission_groups", "a policy needs at least one group");
    }
    let resources = resources(fields);
    // INVARIANT: an id that is not random is only less opaque.
    let id = new_id().unwrap_or_default();
    Policy { id, denies, permission_groups: groups, resources }
}

/// Names of resources: keys of an object whose values are `*`, or again such an object.
fn resources(fields: &Fields<'_>) -> Vec<String> {
    let mut names = Vec::new();
    let mut push = |name: &str| {
        if Scope::parse(name).is_none() {
            let message = format!(
                "unknown resource `{name}`; expected `com.svc.api.user.*`, `com.svc.api.account.ID` or \
                 `com.svc.api.account.zone.ID`, with `*` for all"
            );
            fields.refuse(error::BAD_FIELD, "resources", message);
        }
        names.push(name.to_owned());
    };
    match fields.value("resources") {
        Some(Value::Object(object)) => {
            for (name, value) in object {
                match value {
                    // All zones of an account: that is what the account stands for here.
                    Value::Object(inner) if inner.keys().all(|inner| inner.ends_with(".zone.*")) => {
                        push(name);
                    }
                    Value::Object(inner) => inner.keys().for_each(|name| push(name)),
                    _ => push(name),
                }
            }
        }
        _ => fields.refuse(error::BAD_FIELD, "resources", "expected an object of names of resources"),
    }
    if names.is_empty() {
        fields.refuse(error::BAD_FIELD, "resources", "a policy needs at least one resource");
    }
    names
}

/// Refuses to give away what the actor does not have.
fn check_gift(actor: &Actor, written: &WrittenToken, resources: &Resources) -> Result<(), ApiErrors> {
    let mut errors = Vec::new();
    for (nth, policy) in written.policies.iter().enumerate().filter(|(_, policy)| !policy.denies) {
        for permission in policy.permission_groups.iter().filter_map(|id| Permission::of_id(id)) {
            for name in &policy.resources {
                let scope = Scope::parse(name);
                let may = scope.is_some_and(|scope| actor.may_give(permission, &scope, resources));
                if !may {
                    let message = format!(
                        "the permission `{}` on `{name}` cannot be given, because the token that asks lacks it",
                        permission.name()
                    );
                    errors.push(ApiError::at(error::NOT_ALLOWED, format!("/policies/{nth}"), message));
                }
            }
        }
    }
    ApiErrors::of(errors).map_or(Ok(()), Err)
}

fn unknown(id: &str) -> ApiErrors {
    ApiError::new(error::NOT_FOUND, format!("there is no token `{id}`")).into()
}

/// A new value of a token, and its hash.
fn new_value() -> Result<(String, String), ApiErrors> {
    let value = format!("{PREFIX}{}{}", new_id()?, new_id()?);
    let hash = TokenHash::of(value.as_bytes()).to_hex();
    Ok((value, hash))
}

async fn list(call: ApiCall) -> Answer {
    let paging = call.paging(20, 50)?;
    let tokens: Vec<&Declared<ApiToken>> = call.snapshot.resources.api_tokens.values().collect();
    let (tokens, info) = paging.of(tokens);
    ApiReply::page(&tokens.iter().map(|token| shown(token, call.unix, None)).collect::<Vec<_>>(), info)
}

async fn find(call: ApiCall) -> Answer {
    let id = TokenId::new(call.parameter("token_id"));
    let token = call.snapshot.resources.api_tokens.get(&id).ok_or_else(|| unknown(id.as_str()))?;
    Ok(ApiReply::of(&shown(token, call.unix, None))?.tagged(revision(token)))
}

/// The token that a body describes, if its writer may give all of it away, with what was passed over.
fn given(call: &ApiCall) -> Result<(WrittenToken, Vec<String>), ApiErrors> {
    let (body, passed) = rule_input::read(&call.body, |fields| written(fields, &call.snapshot.deprecations))?;
    check_gift(&call.actor, &body, &call.snapshot.resources)?;
    Ok((body, passed))
}

async fn create(call: ApiCall) -> Answer {
    let (body, passed) = given(&call)?;
    let (value, hash) = new_value()?;
    let token = token(TokenId::new(new_id()?), hash, body, call.now.clone(), call.now.clone());
    let put = token.clone();
    call.write(move |_| Ok(vec![Change::PutApiToken { token: put.clone() }])).await?;
    Ok(ApiReply::of(&shown(&token, call.unix, Some(&value)))?.passing_over(passed))
}

fn token(id: TokenId, hash: String, body: WrittenToken, issued_on: String, modified_on: String) -> ApiToken {
    let WrittenToken {
        name,
        is_disabled,
        policies,
        not_before,
        expires_on,
        clients,
        refused_clients,
        deprecations,
    } = body;
    ApiToken {
        id,
        name,
        hash,
        is_disabled,
        policies,
        not_before,
        expires_on,
        clients,
        refused_clients,
        deprecations,
        issued_on,
        modified_on,
    }
}

async fn replace(call: ApiCall) -> Answer {
    let (body, passed) = given(&call)?;
    let id = TokenId::new(call.parameter("token_id"));
    let (of, now, precondition) = (id.clone(), call.now.clone(), call.precondition());
    let applied = call
        .write(move |resources| {
            let known = resources.api_tokens.get(&of).ok_or_else(|| unknown(of.as_str()))?;
            precondition.check(revision(known))?;
            let (hash, issued_on) = (known.hash.clone(), known.issued_on.clone());
            let token = token(of.clone(), hash, body.clone(), issued_on, now.clone());
            Ok(vec![Change::PutApiToken { token }])
        })
        .await?;
    let token = applied.resources.api_tokens.get(&id).ok_or_else(|| unknown(id.as_str()))?;
    Ok(ApiReply::of(&shown(token, call.unix, None))?.tagged(revision(token)).passing_over(passed))
}

async fn roll(call: ApiCall) -> Answer {
    let id = TokenId::new(call.parameter("token_id"));
    let (value, hash) = new_value()?;
    let (of, now) = (id.clone(), call.now.clone());
    call.write(move |resources| {
        let known = resources.api_tokens.get(&of).ok_or_else(|| unknown(of.as_str()))?;
        let (hash, modified_on) = (hash.clone(), now.clone());
        let token = ApiToken { hash, modified_on, ..known.value.clone() };
        Ok(vec![Change::PutApiToken { token }])
    })
    .await?;
    ApiReply::of(&value)
}

async fn delete(call: ApiCall) -> Answer {
    let id = TokenId::new(call.parameter("token_id"));
    let of = id.clone();
    call.write(move |resources| {
        resources.api_tokens.get(&of).ok_or_else(|| unknown(of.as_str()))?;
        Ok(vec![Change::DeleteApiToken { id: of.clone() }])
    })
    .await?;
    ApiReply::of(&Deleted { id: id.as_str() })
}
