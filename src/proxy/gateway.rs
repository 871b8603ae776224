//! Gateway requests on a provider's own route: decided from the head, passed on as they are.

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use pingora::Result;
use pingora::http::RequestHeader;
use pingora::proxy::Session;

use super::call::{self, Call};
use super::context::{Context, GatewayRoute, Hold, Route, Share};
use super::refusal::Refusal;
use super::steps::{Kind, Plan};
use super::{Edge, headers, prescan, refuse};
use crate::ai::answer::GatewayError;
use crate::ai::aws::AccessKey;
use crate::ai::limit::{Amounts, Caller, Exceeded, Measure};
use crate::ai::options::Options;
use crate::ai::recorder::BYTES_PER_TOKEN;
use crate::ai::{Decision, Forward, Gateway, include_usage, provider, usage, vault};
use crate::model::gateway::Scan;
use crate::routing::GatewayPath;
use crate::snapshot::Snapshot;

/// What an answer is taken to use at most where the request does not bound it.
const UNBOUNDED_ANSWER_TOKENS: u64 = 4096;

impl Edge {
    /// Decides where a gateway request goes, or that it goes nowhere. A request that the gateway takes
    /// in steps of its own is returned as what is to be done.
    pub(super) fn route_gateway(&self, session: &Session, ctx: &mut Context) -> Result<Option<Plan>> {
        let snapshot = std::sync::Arc::clone(&ctx.snapshot);
        let request = session.req_header();
        let path = std::str::from_utf8(request.raw_path()).ok().and_then(GatewayPath::parse);
        let mut presented = headers::gateway_token(&request.headers, &snapshot.token_headers);
        let now = self.clock.unix();
        let kind = path.and_then(|path| match path.provider {
            "" if path.rest.is_empty() => Some(Kind::Universal),
            provider::COMPAT => Some(Kind::Compatible),
            _ => None,
        });
        if kind == Some(Kind::Compatible) {
            presented = presented.or_else(|| headers::gateway_token_in_authorization(&request.headers));
        }
        if let (Some(kind), Some(path)) = (kind, path)
            && let Ok((gateway, token)) = snapshot.gateways.authorize(path, presented, now)
        {
            let options = Options::of(&request.headers);
            let native = (String::new(), String::new(), String::new());
            return planned(ctx, Plan { kind, gateway, token, options, native });
        }
        match snapshot.gateways.decide(path, presented, now) {
            Decision::Forward(forward) => {
                let options = Options::of(&request.headers);
                let is_edited =
                    signs(&forward, &request.headers) || asks_usage(&forward.gateway, path.as_ref());
                if !session.is_upgrade_req() && (is_edited || takes_steps(&options, &forward.gateway)) {
                    let native = path.map_or_else(Default::default, |path| {
                        (path.provider.to_owned(), path.rest.to_owned(), path.query.to_owned())
                    });
                    let (gateway, token) = (forward.gateway, forward.token);
                    return planned(ctx, Plan { kind: Kind::Native, gateway, token, options, native });
                }
                let id = call::ulid(now, self.unique());
                let mut call = Call::new(*forward, options, id, &request.headers);
                if session.is_upgrade_req() {
                    call.request_type = "websocket";
                }
                if let Err(error) = self.credential(&mut call, &request.headers) {
                    return refuse_call(ctx, &call, error);
                }
                let target = format!("{}{}", call.path, path.map_or("", |path| path.query));
                let settings = &call.gateway.settings;
                let needs_body = settings.scan_requests == Scan::Block
                    || settings.limits.iter().any(crate::ai::limit::Limit::needs_body);
                if needs_body && !session.is_upgrade_req() {
                    call.held = Some(Hold { bytes: BytesMut::new(), share: Share::new(&self.held_bodies) });
                } else if let Err(exceeded) = self.reserve(&mut call, None, Amounts::default(), now) {
                    ctx.route = Route::without_call(&call.gateway.label, &call.provider.slug);
                    return limited(ctx, exceeded);
                }
                ctx.route = Route::of_call(call, target);
                Ok(None)
            }
            Decision::Refuse { error, gateway } => {
                let known_provider = path.map_or("unknown", |path| {
                    let is_known = snapshot.gateways.providers.contains_key(path.provider);
                    if is_known { path.provider } else { "unknown" }
                });
                let label = gateway.as_ref().map_or("unknown", |gateway| &gateway.label);
                ctx.route = Route::without_call(label, known_provider);
                refuse(ctx, Refusal::Gateway(error))
            }
        }
    }

    /// Takes what the call may use at most of the gateway's limits.
    fn reserve(
        &self,
        call: &mut Call,
        model: Option<&str>,
        amounts: Amounts,
        now: Duration,
    ) -> std::result::Result<(), Exceeded> {
        let limits = &call.gateway.settings.limits;
        if limits.is_empty() {
            return Ok(());
        }
        let caller = Caller {
            gateway: &call.gateway.label,
            token: call.token.as_ref().map(crate::model::TokenId::as_str),
            provider: &call.provider.slug,
            model,
            metadata: &call.options.metadata,
        };
        let taken = self.recorder.ledger().reserve(limits, caller, amounts, now)?;
        call.reservation = Some(taken);
        Ok(())
    }

    /// The same, where the body is known.
    pub(super) fn reserve_for_body(
        &self,
        call: &mut Call,
        body: &Bytes,
        snapshot: &Snapshot,
    ) -> std::result::Result<(), Exceeded> {
        let limits = &call.gateway.settings.limits;
        if !limits.iter().any(crate::ai::limit::Limit::needs_body) {
            return self.reserve(call, None, Amounts::default(), self.clock.unix());
        }
        let facts = usage::facts(&call.path, body);
        let input = (body.len() as u64).div_ceil(BYTES_PER_TOKEN);
        let output = facts.max_tokens.unwrap_or(UNBOUNDED_ANSWER_TOKENS);
        let at_most = usage::Usage { input: Some(input), output: Some(output), ..usage::Usage::default() };
        let model = facts.model.as_deref().unwrap_or("");
        let cost = snapshot.gateways.prices.cost(&call.provider.slug, model, &at_most, None);
        if cost.is_none() && limits.iter().any(|limit| limit.measure == Measure::Cost) {
            call.options.warnings.push("the model has no price: its cost is not limited".to_owned());
        }
        let amounts = Amounts { tokens: input + output, cost_nanos: cost.map_or(0, |cost| cost.nanos) };
        self.reserve(call, facts.model.as_deref(), amounts, self.clock.unix())
    }

    /// Holds the body of a call until the scanner and the limits have seen it.
    pub(super) async fn hold_call(
        &self,
        body: &mut Option<Bytes>,
        end: bool,
        ctx: &mut Context,
    ) -> Result<()> {
        let snapshot = std::sync::Arc::clone(&ctx.snapshot);
        let (limit, all) = (snapshot.limits.inspected_body.0, snapshot.limits.inspected_bodies.0);
        let Route::Gateway(route) = &mut ctx.route else { return Ok(()) };
        let Some(call) = &mut route.call else { return Ok(()) };
        let Some(hold) = &mut call.held else { return Ok(()) };
        let chunk = body.take().unwrap_or_default();
        if hold.bytes.len() + chunk.len() > limit {
            return refuse(ctx, Refusal::BodyTooLong);
        }
        if !hold.share.take(chunk.len(), all) {
            return refuse(ctx, Refusal::TooManyBodies);
        }
        hold.bytes.extend_from_slice(&chunk);
        if !end {
            return Ok(());
        }
        let Some(hold) = call.held.take() else { return Ok(()) };
        let bytes = hold.bytes.freeze();
        let prescan = prescan::of_call(call);
        self.prescan(prescan, &bytes, ctx).await?;
        let Some(call) = ctx.call() else { return Ok(()) };
        if let Err(exceeded) = self.reserve_for_body(call, &bytes, &snapshot) {
            return limited(ctx, exceeded);
        }
        *body = Some(bytes);
        Ok(())
    }
}

/// Whether a call needs more than to be passed on.
fn takes_steps(options: &Options, gateway: &Gateway) -> bool {
    let settings = &gateway.settings;
    let caches = options.cache_ttl.is_some_and(|ttl| !ttl.is_zero())
        || options.cache_key.is_some()
        || (!settings.cache_ttl.is_zero() && options.cache_ttl.is_none());
    caches
        || options.max_attempts.unwrap_or(settings.retry_max_attempts) > 1
        || options.request_timeout.is_some()
        || !settings.request_timeout.is_zero()
        || !settings.heartbeat.is_zero()
}

/// Whether the gateway may ask for the usage of a stream, for which it reads the request.
fn asks_usage(gateway: &Gateway, path: Option<&GatewayPath<'_>>) -> bool {
    gateway.settings.include_usage && path.is_some_and(|path| include_usage::may_ask(path.rest))
}

/// Whether a stored key may sign the request, which has to be whole for that.
fn signs(forward: &Forward, headers: &http::HeaderMap) -> bool {
    let is_such = |key: &vault::StoredKey| key.access_key.is_some() && key.provider == forward.provider.slug;
    !headers.contains_key(http::header::AUTHORIZATION) && forward.gateway.keys.iter().any(is_such)
}

/// Signs a request to a provider with a stored key.
pub(super) fn sign(
    key: &AccessKey,
    head: &mut RequestHeader,
    body: &[u8],
    now: SystemTime,
) -> std::result::Result<(), String> {
    let authority = std::str::from_utf8(headers::bytes(&head.headers, &http::header::HOST)).unwrap_or("");
    let target = std::str::from_utf8(head.raw_path()).map_err(|_| "the path is not UTF-8".to_owned())?;
    let (target, fields) = key.sign(head.method.as_str(), authority, target, &head.headers, body, now)?;
    let failed = |error: Box<pingora::Error>| error.to_string();
    head.set_raw_path(target.as_bytes()).map_err(failed)?;
    fields.into_iter().try_for_each(|(name, value)| head.insert_header(name, value)).map_err(failed)
}

/// Refuses a call that would have gone out.
pub(super) fn refuse_call<T>(ctx: &mut Context, call: &Call, error: GatewayError) -> Result<T> {
    ctx.route = Route::without_call(&call.gateway.label, &call.provider.slug);
    refuse(ctx, Refusal::Gateway(error))
}

/// Notes whose request it is, for what may be refused from here on.
fn planned(ctx: &mut Context, plan: Plan) -> Result<Option<Plan>> {
    ctx.route = Route::without_call(&plan.gateway.label, "unknown");
    Ok(Some(plan))
}

/// Refuses a call that would pass a limit.
pub(super) fn limited<T>(ctx: &mut Context, exceeded: Exceeded) -> Result<T> {
    let retry_after_seconds =
        u32::try_from(exceeded.retry_after.as_secs_f64().ceil() as u64).unwrap_or(u32::MAX).max(1);
    ctx.exceeded = Some((exceeded.measure, exceeded.remaining));
    refuse(
        ctx,
        Refusal::Gateway(match exceeded.measure {
            Measure::Cost => GatewayError::SpendLimited { retry_after_seconds },
            Measure::Requests | Measure::Tokens => GatewayError::RateLimited { retry_after_seconds },
        }),
    )
}

/// Makes the request the provider's: its path, its host, nothing of ours. All else stays as sent.
pub(super) fn to_provider(
    route: &GatewayRoute,
    snapshot: &Snapshot,
    request: &mut RequestHeader,
) -> Result<()> {
    headers::strip_gateway(request, &snapshot.token_headers)?;
    request.set_raw_path(route.target.as_bytes())?;
    if let Some(call) = &route.call {
        request.insert_header("host", &call.provider.authority)?;
        if let Some((name, value)) = &call.credential {
            request.insert_header(name.clone(), value.clone())?;
        }
    }
    Ok(())
}

impl Edge {
    /// Takes a stored key for a call that has none, or names one.
    pub(super) fn credential(
        &self,
        call: &mut Call,
        head: &http::HeaderMap,
    ) -> std::result::Result<(), GatewayError> {
        let alias = call.options.byok_alias.as_deref();
        if call.gateway.keys.is_empty() && alias.is_none() {
            return Ok(());
        }
        let (provider, turn) = (&call.provider, self.turns.fetch_add(1, Ordering::Relaxed));
        let key = vault::choose(&call.gateway.keys, &provider.slug, &provider.authority, alias, turn);
        let field = key.and_then(vault::StoredKey::field);
        match (field, alias) {
            (None, Some(_)) => Err(GatewayError::UnknownKey),
            // Who brings a key of his own keeps it.
            (Some((name, _)), None) if head.contains_key(&name) => Ok(()),
            (field, _) => {
                call.credential = field;
                call.signer = key.and_then(|key| key.access_key.clone());
                Ok(())
            }
        }
    }
}
