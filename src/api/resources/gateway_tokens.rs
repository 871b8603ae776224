//! Tokens of a gateway: made and shown once, listed, revoked. Each has the permission `Run`.

use gateway::mcp::ToolFilter;
use gateway::token::{self, TokenHash};
use model::{Declared, GatewayToken, TokenId};
use serde::Serialize;
use store::Change;

use super::accounts::Deleted;
use super::gateways::{self, path_id};
use super::tokens::moment;
use super::user::time;
use super::{rule_input, shapes};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError};
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Operation, PAGE, PER_PAGE, ResultKind, Verb,
};

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/tokens",
        summary: "Lists the tokens of a gateway, never their values.",
        permission: Permission::GatewaysRead,
        query: &[PAGE, PER_PAGE],
        input: None,
        output: ResultKind::List(shapes::GATEWAY_TOKEN),
        run: |call| Box::pin(list(call)),
    },
    Operation {
        verb: Verb::Post,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/tokens",
        summary: "Makes a token of a gateway; its value is in this answer only.",
        permission: Permission::GatewaysWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::GATEWAY_TOKEN)),
        output: ResultKind::One(shapes::GATEWAY_TOKEN),
        run: |call| Box::pin(create(call)),
    },
    Operation {
        verb: Verb::Delete,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/tokens/{token_id}",
        summary: "Revokes a token of a gateway; it is refused from the next call on.",
        permission: Permission::GatewaysWrite,
        query: &[DRY_RUN],
        input: None,
        output: ResultKind::One(shapes::DELETED),
        run: |call| Box::pin(delete(call)),
    },
];

#[derive(Debug, Serialize)]
struct ShownGatewayToken<'a> {
    id: &'a str,
    name: &'a str,
    permissions: [&'static str; 1],
    #[serde(skip_serializing_if = "str::is_empty")]
    created_on: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_on: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
}

fn shown<'a>(token: &'a GatewayToken, value: Option<&'a str>) -> ShownGatewayToken<'a> {
    ShownGatewayToken {
        id: token.id.as_str(),
        name: &token.name,
        permissions: ["Run"],
        created_on: &token.created_on,
        expires_on: token.expires_at.map(time),
        tools: token.tools.as_deref(),
        value,
    }
}

async fn list(call: ApiCall) -> Answer {
    let paging = call.paging(20, 50)?;
    let (account, gateway) = path_id(&call);
    gateways::find(&call.snapshot.resources, &(account.clone(), gateway.clone()))?;
    let is_mine = |token: &&Declared<GatewayToken>| token.account == account && token.gateway == gateway;
    let (tokens, info) = paging.of(call.snapshot.resources.tokens.values().filter(is_mine).collect());
    ApiReply::page(&tokens.into_iter().map(|token| shown(token, None)).collect::<Vec<_>>(), info)
}

async fn create(call: ApiCall) -> Answer {
    let ((name, expires_at, tools), unknown) = rule_input::read(&call.body, |fields| {
        fields.ignore(&["id", "permissions", "created_on"]);
        let tools = fields.texts("tools");
        if let Some(Err(message)) = tools.as_deref().map(ToolFilter::of_token) {
            fields.refuse(error::BAD_FIELD, "tools", message);
        }
        Some((fields.text("name").unwrap_or("").to_owned(), moment(fields, "expires_on"), tools))
    })?;
    let secret = token::generate().map_err(|error| ApiError::new(error::UNAVAILABLE, error))?;
    let hash = TokenHash::of(secret.expose().as_bytes()).to_hex();
    let (account, gateway) = path_id(&call);
    let token = GatewayToken {
        id: TokenId::derived("gateway token", &hash),
        account,
        gateway,
        name,
        hash,
        created_on: call.now.clone(),
        expires_at,
        tools,
    };
    let put = token.clone();
    call.write(move |resources| {
        gateways::find(resources, &(put.account.clone(), put.gateway.clone()))?;
        Ok(vec![Change::PutToken { token: put.clone() }])
    })
    .await?;
    Ok(ApiReply::of(&shown(&token, Some(secret.expose())))?.passing_over(unknown))
}

async fn delete(call: ApiCall) -> Answer {
    let (id, (account, gateway)) = (TokenId::new(call.parameter("token_id")), path_id(&call));
    let of = id.clone();
    call.write(move |resources| {
        let known = resources.tokens.get(&of);
        known.filter(|token| token.account == account && token.gateway == gateway).ok_or_else(|| {
            ApiError::new(error::NOT_FOUND, format!("the gateway `{gateway}` has no token `{of}`"))
        })?;
        Ok(vec![Change::DeleteToken { id: of.clone() }])
    })
    .await?;
    ApiReply::of(&Deleted { id: id.as_str() })
}
