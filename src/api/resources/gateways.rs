//! AI gateways: made, listed, changed, deleted.

use std::sync::Arc;
use std::time::Duration;

use gateway::vault::MasterKey;
use model::gateway::{GatewaySettings, ScanMode};
use model::{
    AccountId, Backoff, ContentPolicy, Declared, Gateway, GatewayId, LogStrategy, McpServer, Resources,
    Technique,
};
use serde::Serialize;
use store::Change;

use super::gateway_dlp::{self, ShownDlp};
use super::gateway_guardrail::{self, ShownGuardrail};
use super::gateway_otel::{self, ShownCollector};
use super::gateway_settings::{self, ShownLimit};
use super::gateway_spend_limits::{self, ShownSpendLimits};
use super::rulesets_read::revision;
use super::{rule_input, shapes};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Kind, Operation, PAGE, PER_PAGE, QueryParameter, ResultKind, Verb,
};
use crate::snapshot::Snapshot;

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: "/accounts/{account_id}/ai-gateway/gateways",
        summary: "Lists the gateways of an account.",
        permission: Permission::GatewaysRead,
        query: &[
            PAGE,
            PER_PAGE,
            QueryParameter { name: "search", kind: Kind::Text, doc: "Only those whose id holds this." },
        ],
        input: None,
        output: ResultKind::List(shapes::GATEWAY),
        run: |call| Box::pin(list(call)),
    },
    Operation {
        verb: Verb::Post,
        path: "/accounts/{account_id}/ai-gateway/gateways",
        summary: "Makes a gateway, which takes calls at once.",
        permission: Permission::GatewaysWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::GATEWAY)),
        output: ResultKind::One(shapes::GATEWAY),
        run: |call| Box::pin(create(call)),
    },
    Operation {
        verb: Verb::Get,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}",
        summary: "Shows a gateway.",
        permission: Permission::GatewaysRead,
        query: &[],
        input: None,
        output: ResultKind::One(shapes::GATEWAY),
        run: |call| Box::pin(find_one(call)),
    },
    Operation {
        verb: Verb::Put,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}",
        summary: "Replaces the settings of a gateway; those that are not given have their defaults.",
        permission: Permission::GatewaysWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::GATEWAY)),
        output: ResultKind::One(shapes::GATEWAY),
        run: |call| Box::pin(replace(call, false)),
    },
    Operation {
        verb: Verb::Patch,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}",
        summary: "Changes some settings of a gateway.",
        permission: Permission::GatewaysWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::GATEWAY)),
        output: ResultKind::One(shapes::GATEWAY),
        run: |call| Box::pin(replace(call, true)),
    },
    Operation {
        verb: Verb::Delete,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}",
        summary: "Deletes a gateway with its tokens, keys and routes; the result is what it was.",
        permission: Permission::GatewaysWrite,
        query: &[DRY_RUN],
        input: None,
        output: ResultKind::One(shapes::GATEWAY),
        run: |call| Box::pin(delete(call)),
    },
];

#[derive(Debug, Serialize)]
struct ShownGateway<'a> {
    id: &'a str,
    account_id: &'a str,
    authentication: bool,
    state: &'static str,
    cache_invalidate_on_update: bool,
    cache_ttl: Option<u64>,
    collect_logs: bool,
    rate_limiting_interval: Option<u64>,
    rate_limiting_limit: Option<u64>,
    rate_limiting_technique: Technique,
    retry_max_attempts: u32,
    retry_delay: u64,
    retry_backoff: Backoff,
    limits: Vec<ShownLimit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spend_limits: Option<ShownSpendLimits<'a>>,
    log_management: Option<u64>,
    log_management_strategy: LogStrategy,
    collect_log_payloads: bool,
    log_payload_bytes: usize,
    caller_prices: bool,
    cache_shared: bool,
    include_usage: bool,
    request_timeout: u64,
    heartbeat: u64,
    waf_paranoia_level: Option<u8>,
    sensitive_data: ShownScan,
    #[serde(skip_serializing_if = "Option::is_none")]
    dlp: Option<ShownDlp<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guardrail: Option<ShownGuardrail<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guardrails: Option<&'a ContentPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    otel: Option<Vec<ShownCollector<'a>>>,
    mcp_servers: &'a [McpServer],
    created_at: &'a str,
    modified_at: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    declared_at: Option<String>,
}

/// What is done about sensitive data in calls and answers.
#[derive(Debug, Serialize)]
struct ShownScan {
    requests: ScanMode,
    responses: ScanMode,
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// `modified` is when the configuration was last changed.
fn shown<'a>(gateway: &'a Declared<Gateway>, modified: &'a str) -> ShownGateway<'a> {
    let settings = &gateway.settings;
    let limit = settings.limits.iter().find(|limit| gateway_settings::is_plain(limit));
    ShownGateway {
        id: gateway.id.as_str(),
        account_id: gateway.account.as_str(),
        authentication: gateway.authentication,
        state: if gateway.authentication { "authenticated gateway" } else { "unauthenticated gateway" },
        cache_invalidate_on_update: settings.cache_invalidate_on_update,
        cache_ttl: (!settings.cache_ttl.is_zero()).then_some(settings.cache_ttl.as_secs()),
        collect_logs: settings.collect_logs,
        rate_limiting_interval: limit.map(|limit| limit.interval.as_secs()),
        rate_limiting_limit: limit.map(|limit| limit.limit),
        rate_limiting_technique: limit.map_or(Technique::Fixed, |limit| limit.technique),
        retry_max_attempts: settings.retry_max_attempts,
        retry_delay: milliseconds(settings.retry_delay),
        retry_backoff: settings.retry_backoff,
        limits: gateway_settings::shown_limits(settings),
        spend_limits: gateway_spend_limits::shown(settings),
        log_management: settings.log_management,
        log_management_strategy: settings.log_management_strategy,
        collect_log_payloads: settings.collect_log_payloads,
        log_payload_bytes: settings.log_payload_bytes,
        caller_prices: settings.caller_prices,
        cache_shared: settings.shares_cache,
        include_usage: settings.include_usage,
        request_timeout: milliseconds(settings.request_timeout),
        heartbeat: milliseconds(settings.heartbeat),
        waf_paranoia_level: settings.waf_paranoia_level,
        sensitive_data: ShownScan { requests: settings.scan_requests, responses: settings.scan_responses },
        dlp: gateway_dlp::shown(settings),
        guardrail: settings.guardrail.as_ref().map(gateway_guardrail::shown),
        guardrails: Some(&settings.content_policy).filter(|policy| !policy.is_empty()),
        otel: gateway_otel::shown(settings),
        mcp_servers: &settings.mcp_servers,
        created_at: if gateway.created_on.is_empty() { modified } else { &gateway.created_on },
        modified_at: if gateway.modified_on.is_empty() { modified } else { &gateway.modified_on },
        declared_at: gateway.place().map(diagnostic::Place::label),
    }
}

/// The id of the gateway in the path.
pub(super) fn path_id(call: &ApiCall) -> (AccountId, GatewayId) {
    (call.account(), GatewayId::new(call.parameter("gateway_id")))
}

/// The gateway of an id.
///
/// # Errors
/// If there is none.
pub(super) fn find<'r>(
    resources: &'r Resources,
    id: &(AccountId, GatewayId),
) -> Result<&'r Declared<Gateway>, ApiErrors> {
    let missing = || ApiError::new(error::NOT_FOUND, format!("there is no gateway `{}`", id.1)).into();
    resources.gateways.get(id).ok_or_else(missing)
}

async fn list(call: ApiCall) -> Answer {
    let paging = call.paging(20, 100)?;
    let account = call.account();
    let of_account = call.snapshot.resources.gateways.values().filter(|gateway| gateway.account == account);
    let is_searched = |gateway: &&Declared<Gateway>| {
        call.asked("search").is_none_or(|text| gateway.id.as_str().contains(text))
    };
    let (gateways, info) = paging.of(of_account.filter(is_searched).collect());
    ApiReply::page(
        &gateways.into_iter().map(|gateway| shown(gateway, &call.snapshot.modified)).collect::<Vec<_>>(),
        info,
    )
}

async fn find_one(call: ApiCall) -> Answer {
    let gateway = find(&call.snapshot.resources, &path_id(&call))?;
    Ok(ApiReply::of(&shown(gateway, &call.snapshot.modified))?.tagged(revision(gateway)))
}

/// Settings of a body: those that it does not have are those of `base`.
fn settings(
    fields: &Fields<'_>,
    base: (bool, GatewaySettings),
    snapshot: &Snapshot,
) -> (bool, GatewaySettings) {
    fields.ignore(&[
        "account_id",
        "account_tag",
        "state",
        "created_at",
        "modified_at",
        "internal_id",
        "is_default",
        "declared_at",
        // All keys are the customer's here.
        "byok_only",
    ]);
    fields.ignore_unless_wanted(&["log_classification", "logpush", "logpush_public_key", "stripe", "zdr"]);
    let (authentication, mut settings) = base;
    if fields.has("cache_ttl") {
        let seconds = fields.within("cache_ttl", 0..=31_536_000).unwrap_or(0);
        settings.cache_ttl = Duration::from_secs(seconds.unsigned_abs());
    }
    if let Some(attempts) = fields.within("retry_max_attempts", 1..=5) {
        settings.retry_max_attempts = attempts as u32;
    }
    if let Some(delay) = fields.within("retry_delay", 0..=60_000) {
        settings.retry_delay = Duration::from_millis(delay.unsigned_abs());
    }
    settings.retry_backoff = fields.word("retry_backoff", error::BAD_FIELD).unwrap_or(settings.retry_backoff);
    gateway_settings::read(fields, &mut settings);
    gateway_dlp::read(fields, &mut settings, snapshot);
    (fields.bool("authentication").unwrap_or(authentication), settings)
}

async fn create(call: ApiCall) -> Answer {
    let ((id, authentication, settings), unknown) = rule_input::read(&call.body, |fields| {
        let id = fields.required_text("id").filter(|id| {
            let is_sound = GatewayId::is_path_word(id);
            if !is_sound {
                let message =
                    format!("expected 1 to 64 letters, digits, hyphens and underscores, found `{id}`");
                fields.refuse(error::BAD_FIELD, "id", message);
            }
            is_sound
        });
        let (authentication, settings) = settings(fields, (true, GatewaySettings::default()), &call.snapshot);
        gateway_guardrail::check_content(fields, &settings);
        Some((GatewayId::new(id?), authentication, settings))
    })?;
    if !GatewayId::is_path_word(call.parameter("account_id")) {
        return Err(ApiError::unknown(&call.path).into());
    }
    let account = call.account();
    let settings = sealed(settings, &account, &id, call.shared.secrets_key.as_ref())?;
    let gateway = Gateway {
        account,
        id,
        authentication,
        settings,
        created_on: call.now.clone(),
        modified_on: call.now.clone(),
    };
    let id = (gateway.account.clone(), gateway.id.clone());
    let of = id.clone();
    let applied = call
        .write(move |resources| {
            if resources.gateways.contains_key(&of) {
                let message = format!("the account has a gateway `{}`", of.1);
                return Err(ApiError::at(error::CONFLICT, "/id", message).into());
            }
            Ok(vec![Change::PutGateway { gateway: Box::new(gateway.clone()) }])
        })
        .await?;
    reply(&applied.resources, &id, unknown)
}

async fn replace(call: ApiCall, keeps_others: bool) -> Answer {
    let id = path_id(&call);
    let snapshot = Arc::clone(&call.snapshot);
    let known = find(&snapshot.resources, &id)?;
    let base = move |gateway: &Gateway| match keeps_others {
        true => (gateway.authentication, gateway.settings.clone()),
        // What this API cannot set stays, and what guardrails and collectors are shown, which no body has.
        false => {
            let GatewaySettings { payload_key, unpriced_call_nanos, guardrail, otel, .. } =
                gateway.settings.clone();
            let default = GatewaySettings::default();
            (true, GatewaySettings { payload_key, unpriced_call_nanos, guardrail, otel, ..default })
        }
    };
    let looked_up = Arc::clone(&call.snapshot);
    let read = move |body: &serde_json::Value, base: (bool, GatewaySettings)| {
        rule_input::read(body, |fields| {
            fields.ignore(&["id"]);
            let (authentication, mut settings) = settings(fields, base, &looked_up);
            if !keeps_others && !fields.has("guardrail") {
                settings.guardrail = None;
            }
            if !keeps_others && !fields.has("otel") {
                settings.otel = Vec::new();
            }
            gateway_guardrail::check_content(fields, &settings);
            Some((authentication, settings))
        })
    };
    let (_, unknown) = read(&call.body, base(known))?;
    let (of, now, body, precondition) =
        (id.clone(), call.now.clone(), call.body.clone(), call.precondition());
    let shared = call.shared.clone();
    let applied = call
        .write(move |resources| {
            let known = find(resources, &of)?;
            precondition.check(revision(known))?;
            let ((authentication, settings), _) = read(&body, base(known))?;
            let settings = sealed(settings, &of.0, &of.1, shared.secrets_key.as_ref())?;
            let mut gateway = Gateway { authentication, settings, ..known.value.clone() };
            if gateway == known.value {
                return Ok(Vec::new());
            }
            gateway.modified_on.clone_from(&now);
            Ok(vec![Change::PutGateway { gateway: Box::new(gateway) }])
        })
        .await?;
    reply(&applied.resources, &id, unknown)
}

/// The settings as they are kept: what guardrails and collectors are shown is sealed.
///
/// # Errors
/// If there is something to seal, and nothing to seal it with.
fn sealed(
    settings: GatewaySettings,
    account: &AccountId,
    gateway: &GatewayId,
    master: Option<&MasterKey>,
) -> Result<GatewaySettings, ApiError> {
    let settings = gateway_guardrail::sealed(settings, account, gateway, master)?;
    gateway_otel::sealed(settings, account, gateway, master)
}

fn reply(resources: &Resources, id: &(AccountId, GatewayId), unknown: Vec<String>) -> Answer {
    let gateway = find(resources, id)?;
    // One that was written has times of its own.
    Ok(ApiReply::of(&shown(gateway, ""))?.tagged(revision(gateway)).passing_over(unknown))
}

async fn delete(call: ApiCall) -> Answer {
    let (id, precondition) = (path_id(&call), call.precondition());
    let of = id.clone();
    call.write(move |resources| {
        precondition.check(revision(find(resources, &of)?))?;
        let is_mine = |account: &AccountId, gateway: &GatewayId| *account == of.0 && *gateway == of.1;
        let tokens = resources.tokens.values().filter(|token| is_mine(&token.account, &token.gateway));
        let keys = resources.keys.values().filter(|key| is_mine(&key.account, &key.gateway));
        let mut changes: Vec<Change> =
            tokens.map(|token| Change::DeleteToken { id: token.id.clone() }).collect();
        changes.extend(keys.map(|key| Change::DeleteKey {
            account: key.account.clone(),
            gateway: key.gateway.clone(),
            provider: key.provider.clone(),
            alias: key.alias.clone(),
        }));
        changes.extend(resources.routes_of(&of.0, &of.1).map(|route| Change::DeleteRoute {
            account: of.0.clone(),
            gateway: of.1.clone(),
            id: route.id.clone(),
        }));
        changes.push(Change::DeleteGateway { account: of.0.clone(), id: of.1.clone() });
        Ok(changes)
    })
    .await?;
    // As it was when the request began, if not when it was deleted.
    ApiReply::of(&shown(find(&call.snapshot.resources, &id)?, ""))
}
