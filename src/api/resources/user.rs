//! The user of the API, as far as clients ask.

use serde::Serialize;

use super::shapes;
use crate::api::auth::permission::PermissionLevel;
use crate::api::auth::{Actor, Permission};
use crate::api::envelope::{ApiReply, Item};

use crate::api::operation::{Answer, ApiCall, Operation, ResultKind, Verb};
use crate::clock::rfc3339;

const fn read(
    path: &'static str,
    summary: &'static str,
    output: ResultKind,
    run: fn(ApiCall) -> crate::api::operation::Running,
) -> Operation {
    let permission = Permission::Any;
    Operation { verb: Verb::Get, path, summary, permission, query: &[], input: None, output, run }
}

pub(super) const OPERATIONS: &[Operation] = &[
    read("/user", "Shows who asks.", ResultKind::One(shapes::USER), |call| Box::pin(user(call))),
    read(
        "/user/tokens/verify",
        "Says whether the token that asks is valid.",
        ResultKind::One(shapes::TOKEN_STATUS),
        |call| Box::pin(verify(call)),
    ),
    read(
        "/accounts/{account_id}/tokens/verify",
        "Says whether the token that asks is valid.",
        ResultKind::One(shapes::TOKEN_STATUS),
        |call| Box::pin(verify(call)),
    ),
    read(
        "/user/tokens/permission_groups",
        "Lists the groups of permissions that policies of tokens name.",
        ResultKind::List(shapes::PERMISSION_GROUP),
        |call| Box::pin(groups(call)),
    ),
    read(
        "/accounts/{account_id}/tokens/permission_groups",
        "Lists the groups of permissions that policies of tokens name.",
        ResultKind::List(shapes::PERMISSION_GROUP),
        |call| Box::pin(groups(call)),
    ),
];

#[derive(Debug, Serialize)]
struct User<'a> {
    id: &'a str,
    email: Option<&'a str>,
}

async fn user(call: ApiCall) -> Answer {
    let email = match &call.actor {
        Actor::Operator { name } if name.contains('@') => Some(name.as_str()),
        _ => None,
    };
    ApiReply::of(&User { id: "00000000000000000000000000000001", email })
}

#[derive(Debug, Serialize)]
struct TokenStatus {
    id: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_on: Option<String>,
}

/// A time in seconds since the epoch as RFC 3339.
pub(super) fn time(seconds: u64) -> String {
    let at = std::time::UNIX_EPOCH.checked_add(std::time::Duration::from_secs(seconds));
    at.map(rfc3339).unwrap_or_default()
}

async fn verify(call: ApiCall) -> Answer {
    let status = match &call.actor {
        Actor::Operator { .. } => TokenStatus {
            id: "00000000000000000000000000000000".to_owned(),
            status: "active",
            not_before: None,
            expires_on: None,
        },
        Actor::Token(token) => TokenStatus {
            id: token.id.to_string(),
            status: "active",
            not_before: token.not_before.map(time),
            expires_on: token.expires_on.map(time),
        },
    };
    let mut reply = ApiReply::of(&status)?;
    reply.messages = vec![Item::new(10000, "This API Token is valid and active".to_owned())];
    Ok(reply)
}

#[derive(Debug, Serialize)]
struct Group {
    id: String,
    name: &'static str,
    scopes: [&'static str; 1],
}

async fn groups(_: ApiCall) -> Answer {
    let groups = Permission::ALL.map(|permission| Group {
        id: permission.id(),
        name: permission.name(),
        scopes: [match permission.level() {
            PermissionLevel::User => "com.svc.api.user",
            PermissionLevel::Account => "com.svc.api.account",
            PermissionLevel::Zone => "com.svc.api.account.zone",
        }],
    });
    ApiReply::of(&groups)
}
