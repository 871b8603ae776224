//! Providers that are not known by name.

use gateway::provider;
use model::gateway::Provider;
use model::origin_url::OriginUrl;
use serde::Serialize;
use store::Change;

use super::accounts::Deleted;
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
        path: "/accounts/{account_id}/ai-gateway/custom-providers",
        summary: "Lists the providers that were declared.",
        permission: Permission::GatewaysRead,
        query: &[PAGE, PER_PAGE],
        input: None,
        output: ResultKind::List(shapes::CUSTOM_PROVIDER),
        run: |call| Box::pin(list(call)),
    },
    Operation {
        verb: Verb::Post,
        path: "/accounts/{account_id}/ai-gateway/custom-providers",
        summary: "Declares a provider, for the gateways of all accounts.",
        // They are shared, so one account's permission is not enough.
        permission: Permission::GatewaysWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::CUSTOM_PROVIDER)),
        output: ResultKind::One(shapes::CUSTOM_PROVIDER),
        run: |call| Box::pin(create(call)),
    },
    Operation {
        verb: Verb::Delete,
        path: "/accounts/{account_id}/ai-gateway/custom-providers/{slug}",
        summary: "Deletes a provider that was declared over the API.",
        permission: Permission::GatewaysWrite,
        query: &[DRY_RUN],
        input: None,
        output: ResultKind::One(shapes::DELETED),
        run: |call| Box::pin(delete(call)),
    },
];

#[derive(Debug, Serialize)]
struct ShownProvider<'a> {
    id: &'a str,
    slug: &'a str,
    base_url: &'a str,
    allow_private: bool,
}

fn shown(provider: &Provider) -> ShownProvider<'_> {
    let Provider { slug, base_url, allow_private } = provider;
    ShownProvider { id: slug, slug, base_url, allow_private: *allow_private }
}

async fn list(call: ApiCall) -> Answer {
    let paging = call.paging(20, 50)?;
    let (providers, info) = paging.of(call.snapshot.resources.providers.values().collect());
    ApiReply::page(&providers.into_iter().map(|provider| shown(provider)).collect::<Vec<_>>(), info)
}

/// Providers are shared by all accounts.
fn check(call: &ApiCall) -> Result<(), ApiError> {
    call.actor.check(Permission::GatewaysWrite, &crate::api::auth::scope::ScopeSubject::Unknown)
}

async fn create(call: ApiCall) -> Answer {
    check(&call)?;
    let (provider, unknown) = rule_input::read(&call.body, |fields| {
        fields.ignore(&["id", "name"]);
        let slug = fields.required_text("slug").filter(|slug| {
            let is_sound = (1..=64).contains(&slug.len())
                && slug.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
            if !is_sound || provider::find(slug).is_some() || provider::is_reserved(slug) {
                let message = format!(
                    "expected 1 to 64 letters, digits and hyphens, of no known provider, found `{slug}`"
                );
                fields.refuse(error::BAD_FIELD, "slug", message);
            }
            is_sound
        });
        let base_url = fields.required_text("base_url").filter(|text| match OriginUrl::parse(text) {
            Ok(url) if url.is_private() => {
                let message = "a private address can only be named in a file, with `allow_private`";
                fields.refuse(error::BAD_FIELD, "base_url", message);
                false
            }
            Ok(_) => true,
            Err(message) => {
                fields.refuse(error::BAD_FIELD, "base_url", message);
                false
            }
        });
        if fields.bool("allow_private") == Some(true) {
            let message = "only a file may allow private addresses";
            fields.refuse(error::BAD_FIELD, "allow_private", message);
        }
        Some(Provider {
            slug: slug?.to_owned(),
            base_url: base_url?.trim_end_matches('/').to_owned(),
            allow_private: false,
        })
    })?;
    let put = provider.clone();
    call.write(move |_| Ok(vec![Change::PutProvider { provider: put.clone() }])).await?;
    Ok(ApiReply::of(&shown(&provider))?.passing_over(unknown))
}

async fn delete(call: ApiCall) -> Answer {
    check(&call)?;
    let slug = call.parameter("slug").to_owned();
    let of = slug.clone();
    call.write(move |resources| {
        resources
            .providers
            .get(&of)
            .ok_or_else(|| ApiError::new(error::NOT_FOUND, format!("no provider `{of}` was declared")))?;
        Ok(vec![Change::DeleteProvider { slug: of.clone() }])
    })
    .await?;
    ApiReply::of(&Deleted { id: &slug })
}
