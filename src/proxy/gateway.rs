//! One way for every call of a gateway: prepare, hold, admit, send.
//!
//! *Prepare* finds the gateway, its token and what is asked for. *Hold* reads the body if anything has to see
//! it. *Admit* takes a key, scans, and reserves what the call may use. Then the call is sent: passed on as it
//! is, or in steps of the gateway's own ([`super::steps`]). Nothing is sent before that.

use model::Limit;
use model::Measure;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use bytes::Bytes;
use pingora::Result;
use pingora::http::RequestHeader;
use pingora::proxy::Session;

use super::call::{self, Call};
use super::call_estimate::{Estimated, estimate};
use super::context::{Context, GatewayRoute, Route};
use super::refusal::Refusal;
use super::request_body::{self, Held, HeldEnd, HoldLimits};
use super::steps::{Kind, StepPlan};
use super::{Edge, headers, refuse};
use crate::ai::{Decision, Forward, Gateway};
use crate::routing::GatewayPath;
use crate::snapshot::Snapshot;
use ::gateway::answer::GatewayError;
use ::gateway::{include_usage, mcp, provider, vault};
use gateway::aws::AccessKey;
use gateway::limit::{self, Caller, Exceeded};
use gateway::options::Options;

/// Told to a client whose body this gateway has to read and cannot.
pub(super) const CODED: &str = "this gateway has to read the body, and its `Content-Encoding` cannot be undone: send it as it is, \
                     or as gzip, deflate, br or zstd within the limits";
/// Told to a client whose request is too long for anything but to be passed on.
const TOO_LONG_TO_KEEP: &str =
    "the body is too long to keep: no cache, attempts, timeout, heartbeat or usage of its own";

/// Why a call does not go out.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rejected {
    Error(GatewayError),
    Exceeded(Exceeded),
}

impl Edge {
    /// Answers a request to a gateway, or makes it ready to be passed on; true if it is answered.
    pub(super) async fn answer_gateway(&self, session: &mut Session, ctx: &mut Context) -> Result<bool> {
        let mut plan = self.prepare(session, ctx)?;
        if plan.kind == Kind::Mcp {
            self.read_mcp(&mut plan, session, ctx).await?;
        }
        if ctx.is_web_socket {
            if plan.kind == Kind::Universal {
                Box::pin(self.converse(session, ctx)).await?;
                return Ok(true);
            }
            if plan.kind == Kind::Compatible {
                ctx.reason = Some("a provider that a body names cannot be asked over a WebSocket".to_owned());
                return refuse(ctx, Refusal::Gateway(GatewayError::BadRequest));
            }
            return self.pass_on(plan, None, session, ctx).await;
        }
        let edits = plan.edits(&session.req_header().headers);
        if !edits && !plan.takes_steps() && !plan.must_see_body() {
            return self.pass_on(plan, None, session, ctx).await;
        }
        let held = self.hold_call(session, ctx).await?;
        let is_optional =
            matches!(plan.kind, Kind::Native | Kind::Mcp) && !plan.must_see_body() && !plan.signs(session);
        match held.end {
            HeldEnd::Whole | HeldEnd::FirstMessage if edits || plan.takes_steps() => {
                Box::pin(self.take_steps(plan, held.bytes, session, ctx)).await?;
                Ok(true)
            }
            HeldEnd::Whole | HeldEnd::FirstMessage => {
                self.pass_on(plan, Some(held.bytes), session, ctx).await
            }
            HeldEnd::TooLong | HeldEnd::NoRoom if is_optional => {
                plan.options.warnings.push(TOO_LONG_TO_KEEP.to_owned());
                self.pass_on(plan, None, session, ctx).await
            }
            HeldEnd::TooLong => refuse(ctx, Refusal::BodyTooLong),
            HeldEnd::NoRoom => refuse(ctx, Refusal::TooManyBodies),
        }
    }

    /// Reads the body of a call.
    pub(super) async fn hold_call(&self, session: &mut Session, ctx: &mut Context) -> Result<Held> {
        let mut body = std::mem::take(&mut ctx.body);
        let limits = HoldLimits::of(&ctx.snapshot.limits, self.clock);
        let held = body.hold(session, limits, &self.held_bodies).await;
        ctx.body = body;
        self.held_bodies.record();
        held
    }

    /// Finds out what is asked for, or refuses it.
    fn prepare(&self, session: &Session, ctx: &mut Context) -> Result<StepPlan> {
        let snapshot = Arc::clone(&ctx.snapshot);
        let request = session.req_header();
        let path = std::str::from_utf8(request.raw_path()).ok().and_then(GatewayPath::parse);
        if path.is_some_and(|path| path.leaves_its_provider()) {
            ctx.reason =
                Some("the path has a segment `..`, which could lead anywhere at the provider".to_owned());
            ctx.route = Route::without_call(None, "unknown");
            return refuse(ctx, Refusal::Gateway(GatewayError::BadRequest));
        }
        let mut presented = headers::gateway_token(&request.headers, &snapshot.token_headers);
        let now = self.clock.unix();
        let kind = path.map_or(Kind::Native, |path| match path.provider {
            "" if path.rest.is_empty() => Kind::Universal,
            provider::COMPAT => Kind::Compatible,
            mcp::PATH_WORD => Kind::Mcp,
            _ => Kind::Native,
        });
        if matches!(kind, Kind::Compatible | Kind::Mcp) {
            presented = presented.or_else(|| headers::gateway_token_in_authorization(&request.headers));
        }
        let options = || Options::of(&request.headers);
        if matches!(kind, Kind::Universal | Kind::Compatible)
            && let Some(path) = path
            && let Ok((gateway, token)) = snapshot.gateways.authorize(path, presented, now)
        {
            ctx.route = Route::without_call(Some(&gateway), "unknown");
            let native = (String::new(), String::new(), String::new());
            let (options, forward) = (options(), None);
            return Ok(StepPlan { kind, gateway, token, options, native, forward, mcp: None });
        }
        match snapshot.gateways.decide(path, presented, now) {
            Decision::Forward(forward) => {
                let native = path.map_or_else(Default::default, |path| {
                    (path.provider.to_owned(), path.rest.to_owned(), path.query.to_owned())
                });
                ctx.route = Route::without_call(Some(&forward.gateway), &forward.provider.slug);
                let (gateway, token) = (Arc::clone(&forward.gateway), forward.token.clone());
                let (options, forward) = (options(), Some(forward));
                Ok(StepPlan { kind, gateway, token, options, native, forward, mcp: None })
            }
            Decision::Refuse { error, gateway } => refuse_undecided(error, gateway.as_deref(), path, ctx),
        }
    }

    /// Makes a call ready that goes on as it is, but for its head.
    async fn pass_on(
        &self,
        plan: StepPlan,
        body: Option<Bytes>,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<bool> {
        let StepPlan { options, native: (_, _, query), forward, mcp, .. } = plan;
        let Some(forward) = forward else { return refuse(ctx, Refusal::Internal) };
        let head = session.req_header();
        let mut call = Call::new(*forward, options, self.call_id(), &head.headers);
        if ctx.is_web_socket {
            call.request_type = "websocket";
        }
        if let Some(mcp) = mcp {
            call.take_mcp(mcp);
        }
        let (gateway, provider) = (Arc::clone(&call.gateway), Arc::clone(&call.provider));
        let call = match self.admit_call(call, head, body.as_ref(), ctx).await? {
            Ok(call) => call,
            Err(rejected) => {
                ctx.route = Route::without_call(Some(&gateway), &provider.slug);
                return reject(ctx, rejected);
            }
        };
        let target = format!("{}{query}", call.path);
        ctx.route = Route::of_call(call, target);
        Ok(false)
    }

    /// A ULID for a new call.
    pub(super) fn call_id(&self) -> String {
        call::ulid(self.clock.unix(), self.rays.unique())
    }

    /// Takes what a call needs to go out: a key, a scan of its body, what it may use of the limits. Inside, why
    /// it does not go out.
    pub(super) async fn admit_call(
        &self,
        mut call: Call,
        head: &RequestHeader,
        body: Option<&Bytes>,
        ctx: &mut Context,
    ) -> Result<std::result::Result<Call, Rejected>> {
        if let Err(error) = self.credential(&mut call, &head.headers) {
            return Ok(Err(Rejected::Error(error)));
        }
        let scans = call.gateway.request_scan().is_some();
        let has_limits = call.limits().any(Limit::needs_body);
        let is_read = scans || has_limits || call.gateway.guardrail.is_some();
        // A provider undoes the coding, so whatever reads the body has to see it undone.
        let read = match body {
            Some(body) if is_read => {
                let Some(read) =
                    request_body::decoded(body, &head.headers, &ctx.snapshot.limits, &self.offload).await
                else {
                    ctx.reason = Some(CODED.to_owned());
                    let error = if scans { GatewayError::ContentBlocked } else { GatewayError::BadRequest };
                    return Ok(Err(Rejected::Error(error)));
                };
                Some(read)
            }
            _ => None,
        };
        match (body, &read) {
            (Some(body), Some(read)) => {
                if let Err(error) = self.prescan.judge(&mut call, read, ctx).await {
                    keep_refused(call, body, ctx);
                    return refuse(ctx, Refusal::Gateway(error));
                }
            }
            (None, _) if scans || (ctx.is_web_socket && call.gateway.answer_scan().is_some()) => {
                ctx.reason =
                    Some("what passes over a WebSocket cannot be scanned before it goes on".to_owned());
                return Ok(Err(Rejected::Error(GatewayError::ContentBlocked)));
            }
            _ => {}
        }
        let prices = &ctx.snapshot.gateways.prices;
        let estimated = match &call.mcp {
            // No provider bills it.
            Some(mcp) => {
                let model = Some(mcp.tool.clone().unwrap_or_default());
                Ok(Estimated { model, ..Estimated::default() })
            }
            None => estimate(&call.asking(), read.as_ref(), &head.method, prices),
        };
        let estimated = match estimated {
            Ok(estimated) => estimated,
            Err(reason) => {
                ctx.reason = Some(reason);
                return Ok(Err(Rejected::Error(GatewayError::BadRequest)));
            }
        };
        if call.gateway.guardrail.is_some()
            && let Err(error) = Box::pin(self.guardrails.judge(&mut call, read.as_ref(), ctx)).await
        {
            if let Some(body) = body {
                keep_refused(call, body, ctx);
            }
            return refuse(ctx, Refusal::Gateway(error));
        }
        let reserved = self.reserve(&mut call, &estimated);
        Ok(reserved.map(|()| call).map_err(Rejected::Exceeded))
    }

    /// Takes what a call may use of the gateway's limits.
    fn reserve(&self, call: &mut Call, estimated: &Estimated) -> std::result::Result<(), Exceeded> {
        let mut route_costs = std::mem::take(&mut call.route_costs);
        let limits = &call.gateway.limits;
        if limits.is_empty() && route_costs.is_empty() {
            return Ok(());
        }
        let caller = Caller {
            gateway: &call.gateway.label,
            token: call.token.as_ref().map(model::TokenId::as_str),
            provider: &call.provider.slug,
            model: estimated.model.as_deref(),
            priced_model: estimated.priced_model.as_deref(),
            metadata: &call.options.metadata,
        };
        let (ledger, now, estimate) = (self.recorder.ledger(), self.clock.unix(), estimated.estimate);
        let mut taken = vec![limit::reserve(ledger, limits, caller, estimate, now)?];
        for passed in &mut route_costs {
            let held = passed.take_held();
            let caller = Caller { gateway: &passed.counter, metadata: &passed.value, ..caller };
            let own = std::slice::from_ref(&passed.limit);
            taken.push(match held {
                Some(held) => held,
                None => limit::reserve(ledger, own, caller, estimate, now)?,
            });
        }
        call.one_attempt = estimate.least;
        call.reservations = taken;
        Ok(())
    }
}

impl StepPlan {
    /// Whether a call needs more than to be passed on.
    fn takes_steps(&self) -> bool {
        let (options, settings) = (&self.options, &self.gateway.settings);
        let caches = options.cache_ttl.is_some_and(|ttl| !ttl.is_zero())
            || options.cache_key.is_some()
            || (!settings.cache_ttl.is_zero() && options.cache_ttl.is_none());
        self.kind != Kind::Native
            || caches
            || options.max_attempts.unwrap_or(settings.retry_max_attempts) > 1
            || options.request_timeout.is_some()
            || !settings.request_timeout.is_zero()
            || !settings.heartbeat.is_zero()
            || self.gateway.judges_answers()
    }

    /// Whether the request may be changed on its way: asked for its usage, or signed.
    fn edits(&self, headers: &http::HeaderMap) -> bool {
        let asks_usage = self.gateway.settings.include_usage && include_usage::may_ask(&self.native.1);
        asks_usage || self.forward.as_ref().is_some_and(|forward| signs(forward, headers))
    }

    fn signs(&self, session: &Session) -> bool {
        self.forward.as_ref().is_some_and(|forward| signs(forward, &session.req_header().headers))
    }

    /// Whether a call may go out only after its body was seen.
    fn must_see_body(&self) -> bool {
        let settings = &self.gateway.settings;
        self.gateway.request_scan().is_some()
            || settings.guardrail.is_some()
            || self.gateway.limits.iter().any(Limit::needs_body)
    }
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

/// Has the row of a call tell of it, though its body was refused.
pub(super) fn keep_refused(mut call: Call, body: &Bytes, ctx: &mut Context) {
    call.asked_at = Some(ctx.started.elapsed());
    if call.request.size() == 0 {
        call.request.push(body);
    }
    ctx.route = Route::of_call(call, String::new());
}

/// Refuses a call that does not go out.
pub(super) fn reject<T>(ctx: &mut Context, rejected: Rejected) -> Result<T> {
    match rejected {
        Rejected::Error(error) => refuse(ctx, Refusal::Gateway(error)),
        Rejected::Exceeded(exceeded) => limited(ctx, exceeded),
    }
}

/// Refuses a request for which no provider was found, or no caller.
fn refuse_undecided<T>(
    error: GatewayError,
    gateway: Option<&Gateway>,
    path: Option<GatewayPath<'_>>,
    ctx: &mut Context,
) -> Result<T> {
    let known_provider = path.map_or("unknown", |path| {
        let is_known = ctx.snapshot.gateways.providers.contains_key(path.provider);
        if is_known { path.provider } else { "unknown" }
    });
    if error == GatewayError::InvalidProvider
        && let Some(known) = path.and_then(|path| provider::find(path.provider))
    {
        ctx.reason = Some(format!(
            "`{}` has no address that is the same for everyone: declare its `base_url` in [[providers]]",
            known.slug
        ));
    }
    ctx.route = Route::without_call(gateway, known_provider);
    refuse(ctx, Refusal::Gateway(error))
}

/// Refuses a call that would pass a limit.
fn limited<T>(ctx: &mut Context, exceeded: Exceeded) -> Result<T> {
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
    fn credential(&self, call: &mut Call, head: &http::HeaderMap) -> std::result::Result<(), GatewayError> {
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
