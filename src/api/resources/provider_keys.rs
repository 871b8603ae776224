//! Keys of providers that a gateway keeps for its callers, sealed.

use gateway::vault::Belonging;
use model::gateway::ProviderKey;
use model::{Declared, Secret};
use serde::Serialize;
use store::Change;

use super::accounts::Deleted;
use super::gateways::{self, path_id};
use super::{rule_input, shapes};
use crate::ai::key_authority;
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Operation, PAGE, PER_PAGE, ResultKind, Verb,
};

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/provider_configs",
        summary: "Lists the keys of providers that a gateway keeps, never the keys themselves.",
        permission: Permission::GatewaysRead,
        query: &[PAGE, PER_PAGE],
        input: None,
        output: ResultKind::List(shapes::PROVIDER_KEY),
        run: |call| Box::pin(list(call)),
    },
    Operation {
        verb: Verb::Post,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/provider_configs",
        summary: "Seals a key of a provider and keeps it for the callers of a gateway.",
        permission: Permission::GatewaysWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::PROVIDER_KEY)),
        output: ResultKind::One(shapes::PROVIDER_KEY),
        run: |call| Box::pin(create(call)),
    },
    Operation {
        verb: Verb::Delete,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/provider_configs/{config_id}",
        summary: "Deletes a key of a provider.",
        permission: Permission::GatewaysWrite,
        query: &[DRY_RUN],
        input: None,
        output: ResultKind::One(shapes::DELETED),
        run: |call| Box::pin(delete(call)),
    },
];

#[derive(Debug, Serialize)]
struct ShownProviderKey<'a> {
    id: String,
    provider_slug: &'a str,
    alias: &'a str,
    weight: u32,
    authority: &'a str,
    default_config: bool,
}

fn shown(key: &ProviderKey) -> ShownProviderKey<'_> {
    ShownProviderKey {
        id: id(key),
        provider_slug: &key.provider,
        alias: &key.alias,
        weight: key.weight,
        authority: &key.authority,
        default_config: key.alias == "default",
    }
}

fn id(key: &ProviderKey) -> String {
    format!("{}:{}", key.provider, key.alias)
}

async fn list(call: ApiCall) -> Answer {
    let paging = call.paging(20, 50)?;
    let (account, gateway) = path_id(&call);
    gateways::find(&call.snapshot.resources, &(account.clone(), gateway.clone()))?;
    let is_mine = |key: &&Declared<ProviderKey>| key.account == account && key.gateway == gateway;
    let (keys, info) = paging.of(call.snapshot.resources.keys.values().filter(is_mine).collect());
    ApiReply::page(&keys.into_iter().map(|key| shown(key)).collect::<Vec<_>>(), info)
}

async fn create(call: ApiCall) -> Answer {
    let ((slug, alias, weight, secret), unknown) = rule_input::read(&call.body, |fields| {
        fields.ignore(&["id", "authority", "default_config", "secret_id", "rate_limit", "rate_limit_period"]);
        let secret = fields.required_text("secret").filter(|secret| {
            let is_sound = !secret.is_empty() && secret.bytes().all(|byte| (0x21..0x7f).contains(&byte));
            if !is_sound {
                fields.refuse(error::BAD_FIELD, "secret", "expected a key of one line, without spaces");
            }
            is_sound
        });
        let alias = fields.text("alias").unwrap_or("default").to_owned();
        if alias.is_empty() || alias.len() > 64 || alias.contains([':', '/']) {
            let message = "expected 1 to 64 bytes without `:` and `/`";
            fields.refuse(error::BAD_FIELD, "alias", message);
        }
        let weight = fields.within("weight", 1..=1000).unwrap_or(1) as u32;
        let slug = fields.required_text("provider_slug").map(str::to_owned);
        Some((slug?, alias, weight, Secret::new(secret?)))
    })?;
    let Some(master) = &call.shared.secrets_key else {
        return Err(ApiError::no_secrets_key("/secret").into());
    };
    let (account, gateway) = path_id(&call);
    let authority = key_authority(&call.snapshot.resources, &account, &gateway, &slug)
        .map_err(|message| ApiError::at(error::BAD_FIELD, "/provider_slug", message))?;
    let belonging = Belonging {
        account: account.as_str(),
        gateway: gateway.as_str(),
        provider: &slug,
        authority: &authority,
        alias: &alias,
    };
    let sealed =
        master.seal(belonging, &secret).map_err(|message| ApiError::new(error::UNAVAILABLE, message))?;
    let key = ProviderKey { account, gateway, provider: slug, authority, alias, weight, sealed };
    let put = key.clone();
    call.write(move |resources| -> Result<_, ApiErrors> {
        gateways::find(resources, &(put.account.clone(), put.gateway.clone()))?;
        Ok(vec![Change::PutKey { key: put.clone() }])
    })
    .await?;
    Ok(ApiReply::of(&shown(&key))?.passing_over(unknown))
}

async fn delete(call: ApiCall) -> Answer {
    let (wanted, (account, gateway)) = (call.parameter("config_id").to_owned(), path_id(&call));
    let of = wanted.clone();
    call.write(move |resources| {
        let is_it =
            |key: &&Declared<ProviderKey>| key.account == account && key.gateway == gateway && id(key) == of;
        let key = resources.keys.values().find(is_it).ok_or_else(|| {
            ApiError::new(error::NOT_FOUND, format!("the gateway `{gateway}` has no key `{of}`"))
        })?;
        Ok(vec![Change::DeleteKey {
            account: key.account.clone(),
            gateway: key.gateway.clone(),
            provider: key.provider.clone(),
            alias: key.alias.clone(),
        }])
    })
    .await?;
    ApiReply::of(&Deleted { id: &wanted })
}
