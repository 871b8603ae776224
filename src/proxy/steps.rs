//! Calls that the gateway makes itself: in several steps and attempts, and from answers it kept.
//!
//! The body is read whole first. Nothing reaches the client before a provider's answer began well, or
//! nothing more can be tried; from its first byte on an answer passes as it comes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, header};
use pingora::Result;
use pingora::http::RequestHeader;
use pingora::proxy::Session;

use super::attempts::{Begun, Failure};
use super::call::Call;
use super::context::{Context, Route};
use super::delivery::client_gone;
use super::dynamic_route::StepTurn;
use super::flight::{Flights, Leader};
use super::gateway::{Rejected, reject, sign};
use super::mcp::{McpCall, ask_plain};
use super::refusal::Refusal;
use super::step_answers::{Found, question, ttl};
use super::{Edge, headers, outcome, refuse};
use crate::ai::{Forward, Gateway};
use ::gateway::answer::GatewayError;
use ::gateway::include_usage;
use gateway::cache::{CREDENTIALS, Cache, Key};
use gateway::options::Options;
use gateway::step::{self, Step};
use model::TokenId;

/// What the gateway needs to make calls itself.
pub(super) struct ProviderClient {
    pub(super) cache: Cache,
    pub(super) flights: Flights,
}

/// What a request asks the gateway to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A provider's own route.
    Native,
    Universal,
    Compatible,
    /// A server of tools.
    Mcp,
}

/// A request of a caller who may call.
pub(super) struct StepPlan {
    pub(super) kind: Kind,
    pub(super) gateway: Arc<Gateway>,
    pub(super) token: Option<TokenId>,
    pub(super) options: Options,
    /// The provider, path and query of a native request.
    pub(super) native: (String, String, String),
    /// Where a native request goes.
    pub(super) forward: Option<Box<Forward>>,
    /// What a server of tools is asked.
    pub(super) mcp: Option<McpCall>,
}

impl ProviderClient {
    pub(super) fn new() -> Self {
        Self { cache: Cache::default(), flights: Flights::default() }
    }
}

impl Edge {
    /// Makes the calls of a request and answers it.
    pub(super) async fn take_steps(
        &self,
        plan: StepPlan,
        body: Bytes,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<()> {
        let made = match plan.kind {
            Kind::Universal => step::universal(&body, &plan.options),
            Kind::Compatible => step::compatible(&body, &plan.options).map(|step| vec![step]),
            Kind::Native | Kind::Mcp => {
                let (slug, path, query) = plan.native.clone();
                let options = plan.options.clone();
                Ok(vec![Step { slug, path, query, headers: HeaderMap::new(), body, options, route: None }])
            }
        };
        let steps = match made {
            Ok(steps) => steps,
            Err(reason) => {
                ctx.reason = Some(reason);
                return refuse(ctx, Refusal::Gateway(GatewayError::BadRequest));
            }
        };
        let last = steps.len() - 1;
        for (nth, step) in steps.into_iter().enumerate() {
            let turn = StepTurn { nth, is_last: nth == last, charge: None };
            let is_answered = match step.route.clone() {
                Some(name) => Box::pin(self.take_route(&plan, &name, step, turn, session, ctx)).await?,
                None => Box::pin(self.take_step(&plan, step, turn, session, ctx)).await?,
            };
            if is_answered {
                return Ok(());
            }
        }
        refuse(ctx, Refusal::Gateway(GatewayError::ProviderFailed))
    }

    /// One step; true if the client was answered.
    pub(super) async fn take_step(
        &self,
        plan: &StepPlan,
        step: Step,
        turn: StepTurn<'_>,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<bool> {
        let StepTurn { nth, is_last, mut charge } = turn;
        let found = match &plan.mcp {
            Some(McpCall { server, .. }) => Some((Arc::clone(&server.provider), server.path.clone())),
            None => ctx.snapshot.gateways.provider(&step.slug, &step.path),
        };
        let Some((provider, target)) = found else {
            let error = Refusal::Gateway(GatewayError::InvalidProvider);
            return or_next(is_last, || refuse(ctx, error));
        };
        if !is_last && !provider.pool.is_up(self.clock.unix()) {
            // It failed just now, time and again: the next one need not wait for it to fail once more.
            return Ok(false);
        }
        let mut head = self.head(plan.kind, &step, &target, &provider.authority, session, ctx)?;
        if charge.is_some() {
            CREDENTIALS.iter().for_each(|name| drop(head.remove_header(*name)));
        }
        let (gateway, token) = (Arc::clone(&plan.gateway), plan.token.clone());
        let forward = Forward { gateway, provider, target, token, mcp_server: None };
        let mut call = self.step_call(plan, &step, forward, &mut head)?;
        call.step = u32::try_from(nth).unwrap_or(u32::MAX);
        call.request.push(&step.body);
        if let Some(charge) = &mut charge {
            call.route = Some(charge.route.clone());
            call.routed_model = Some(charge.model.clone());
            call.route_costs = charge.hand_over_costs();
        }
        let provider = Arc::clone(&call.provider);
        let mut call = match self.admit_call(call, &head, Some(&step.body), ctx).await? {
            Ok(call) => call,
            Err(rejected) => {
                ctx.route = Route::without_call(Some(&plan.gateway), &provider.slug);
                return or_next(is_last, || reject(ctx, rejected));
            }
        };
        if let Some(charge) = charge {
            call.reservations.append(&mut charge.counted);
        }
        if let Some((name, value)) = call.credential.take() {
            head.insert_header(name, value)?;
        }
        // What a GET asks for, such as whether a job is done, changes.
        let keep = ttl(&call).filter(|_| head.method == http::Method::POST);
        let key = keep.map(|_| question(&call, &head, &step.body, ctx));
        let mut leader = None;
        if let Some(key) = key.filter(|_| !call.options.skip_cache) {
            match self.kept_or_turn(&key, &mut call, session, ctx).await? {
                Found::Answered => {
                    put(ctx, call);
                    return Ok(true);
                }
                Found::Turn(lead) => leader = lead,
            }
        }
        let body = match self.edited(&mut call, &mut head, &step)? {
            Ok(body) => body,
            Err(reason) => {
                ctx.reason = Some(reason);
                ctx.route = Route::without_call(Some(&plan.gateway), &provider.slug);
                return or_next(is_last, || reject(ctx, Rejected::Error(GatewayError::UnknownKey)));
            }
        };
        call.asked_at = Some(ctx.started.elapsed());
        let attempted = self.attempts(&mut call, &head, &body, is_last, session, ctx).await;
        let keep = key.zip(keep);
        self.end_step(attempted, call, keep, leader, is_last, session, ctx).await
    }

    /// The call of a step.
    fn step_call(
        &self,
        plan: &StepPlan,
        step: &Step,
        forward: Forward,
        head: &mut RequestHeader,
    ) -> Result<Call> {
        let mut call = Call::new(forward, step.options.clone(), self.call_id(), &head.headers);
        call.request_type = match plan.kind {
            Kind::Native => "native",
            Kind::Mcp => "mcp",
            Kind::Universal => "universal",
            Kind::Compatible => "compat",
        };
        if let Some(mcp) = &plan.mcp {
            if mcp.hides_tools {
                ask_plain(head)?;
            }
            call.take_mcp(mcp.clone());
        }
        Ok(call)
    }

    /// What became of a step's attempts; true if the client was answered.
    #[expect(clippy::too_many_arguments, reason = "what a step has learnt, spelled out")]
    async fn end_step(
        &self,
        attempted: std::result::Result<Begun, Failure>,
        call: Call,
        keep: Option<(Key, Duration)>,
        leader: Option<Leader<'_>>,
        is_last: bool,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<bool> {
        match attempted {
            Ok(begun) => {
                let status = begun.status();
                if !is_last && !(200..300).contains(&status) {
                    outcome::call_ended(self, call, status, Some("fallback"), ctx);
                    return Ok(false);
                }
                put(ctx, call);
                let keep = keep.filter(|_| status == 200);
                self.deliver(begun, keep, leader, session, ctx).await?;
                Ok(true)
            }
            Err(Failure::ClientGone) => {
                put(ctx, call);
                Err(client_gone())
            }
            Err(Failure::Provider) if is_last => {
                put(ctx, call);
                refuse(ctx, Refusal::Gateway(GatewayError::ProviderFailed))
            }
            Err(Failure::Provider) => {
                outcome::call_ended(self, call, 502, Some("fallback"), ctx);
                Ok(false)
            }
        }
    }

    /// The body as it is sent: asked for its usage if the gateway does that, and signed if a stored key
    /// signs. Inside, why it cannot be signed.
    fn edited(
        &self,
        call: &mut Call,
        head: &mut RequestHeader,
        step: &Step,
    ) -> Result<std::result::Result<Bytes, String>> {
        let mut body = step.body.clone();
        let asks = call.gateway.settings.include_usage && include_usage::may_ask(&step.path);
        if let Some(asked) = asks.then(|| include_usage::asked(&body)).flatten() {
            head.insert_header(header::CONTENT_LENGTH, asked.len().to_string())?;
            // What is withheld is looked for in plain text.
            head.insert_header(header::ACCEPT_ENCODING, "identity")?;
            call.withholds_usage = true;
            body = asked;
        }
        if let Some(key) = call.signer.take()
            && let Err(reason) = sign(&key, head, &body, self.clock.now())
        {
            return Ok(Err(reason));
        }
        Ok(Ok(body))
    }

    /// The head towards a provider.
    fn head(
        &self,
        kind: Kind,
        step: &Step,
        target: &str,
        authority: &str,
        session: &Session,
        ctx: &Context,
    ) -> Result<RequestHeader> {
        let client = session.req_header();
        let mut head = if kind == Kind::Universal {
            let mut head = RequestHeader::build("POST", b"/", Some(step.headers.len() + 4))?;
            for (name, value) in &step.headers {
                head.append_header(name.clone(), value.clone())?;
            }
            if !head.headers.contains_key(header::CONTENT_TYPE) {
                head.insert_header(header::CONTENT_TYPE, "application/json")?;
            }
            if let Some(coding) = client.headers.get(header::ACCEPT_ENCODING) {
                head.insert_header(header::ACCEPT_ENCODING, coding.clone())?;
            }
            Self::pass_trace_on(client, &mut head, ctx)?;
            head
        } else {
            client.clone()
        };
        head.set_version(http::Version::HTTP_11);
        headers::strip_gateway(&mut head, &ctx.snapshot.token_headers)?;
        if kind != Kind::Native && headers::gateway_token_in_authorization(&head.headers).is_some() {
            head.remove_header(&header::AUTHORIZATION);
        }
        headers::strip_connection(&mut head);
        head.remove_header(&header::EXPECT);
        head.set_raw_path(format!("{target}{}", step.query).as_bytes())?;
        head.insert_header(header::HOST, authority)?;
        if !step.body.is_empty() || head.method == http::Method::POST {
            head.insert_header(header::CONTENT_LENGTH, step.body.len().to_string())?;
        }
        Ok(head)
    }
}

/// Makes a call the one that the request ends with.
fn put(ctx: &mut Context, call: Call) {
    ctx.route = Route::of_call(call, String::new());
}

/// Of a step that cannot be taken: the refusal if it is the last, else that there is another.
pub(super) fn or_next(is_last: bool, refused: impl FnOnce() -> Result<bool>) -> Result<bool> {
    if is_last { refused() } else { Ok(false) }
}
