//! Answers of calls that the gateway makes itself: from its cache, from another caller's call, or as they come.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header;
use pingora::Result;
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::protocols::http::client::HttpSession;
use pingora::proxy::Session;

use super::attempts::Begun;
use super::call::Call;
use super::context::Context;
use super::delivery::{self, AnswerSource, EventStream};
use super::flight::{Leader, Turn};
use super::guardrail::AnswerHead;
use super::headers::HOP_BY_HOP;
use super::refusal::Refusal;
use super::{Edge, headers, refuse, request_body};
use crate::ai::CompiledGuardrail;
use crate::upstream::kept_connections;
use ::gateway::answer::GatewayError;
use gateway::cache::{self, Answer, Key, Question};

/// Longest wait for another caller's answer to the same question.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// What the cache says of a question.
pub(super) enum Found<'e> {
    /// The client has its answer.
    Answered,
    /// It has to be asked, by this request for all others if it leads.
    Turn(Option<Leader<'e>>),
}

impl Edge {
    /// Passes an answer on as it comes; keeps a copy if it is to be kept.
    pub(super) async fn deliver(
        &self,
        begun: Begun,
        keep: Option<(Key, Duration)>,
        mut leader: Option<Leader<'_>>,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<()> {
        let Begun { mut upstream, peer } = begun;
        let Some(mut answered) = upstream.response_header().cloned() else {
            return refuse(ctx, Refusal::Gateway(GatewayError::ProviderFailed));
        };
        ctx.origin_status = answered.status.as_u16();
        if let HttpSession::H1(h1) = &mut upstream {
            h1.respect_keepalive();
        }
        let control = headers::bytes(&answered.headers, &header::CACHE_CONTROL).to_ascii_lowercase();
        let keeps = keep.is_some()
            && !answered.headers.contains_key(header::SET_COOKIE)
            && memchr::memmem::find(&control, b"no-store").is_none();
        let fields =
            answered.headers.iter().filter(|(name, _)| keeps && !HOP_BY_HOP.contains(&name.as_str()));
        let fields = fields.map(|(name, value)| (name.clone(), value.clone())).collect();
        let status = answered.status.as_u16();
        let has_body = !upstream.response_done() && session.req_header().method != http::Method::HEAD;
        let stream = ctx.call().and_then(|call| EventStream::of(&answered, call));
        let elapsed = ctx.started.elapsed();
        let gateway = match ctx.call() {
            Some(call) => {
                call.begin_answer(&mut answered, elapsed)?;
                Some(Arc::clone(&call.gateway))
            }
            None => None,
        };
        let mut source = AnswerSource::new(upstream, self.held_bodies.share());
        if has_body
            && let Some(gateway) = &gateway
            && let Some(scan) = gateway.answer_scan()
        {
            let read = self.read_answer(&answered, &mut source, session, ctx).await?;
            let content_type = headers::bytes(&answered.headers, &header::CONTENT_TYPE).to_vec();
            let judged = self.prescan.judge_answer(gateway, scan, read.as_ref(), &content_type, ctx);
            if let Err(error) = Box::pin(judged).await {
                return refuse(ctx, Refusal::Gateway(error));
            }
            if let Some(call) = ctx.call() {
                call.tell_flagged(&mut answered)?;
            }
        }
        if has_body
            && let Some(guardrail) = gateway.as_ref().and_then(|gateway| gateway.answer_guardrail())
            && let Err(error) =
                Box::pin(self.judge_held(guardrail, &answered, &mut source, session, ctx)).await?
        {
            return refuse(ctx, Refusal::Gateway(error));
        }
        let hides_tools = ctx.call().is_some_and(|call| call.mcp.as_ref().is_some_and(|mcp| mcp.hides_tools));
        if has_body
            && hides_tools
            && let Err(error) = Box::pin(self.hide_tools(&mut answered, &mut source, session, ctx)).await?
        {
            return refuse(ctx, Refusal::Gateway(error));
        }
        delivery::begin(answered, keep.map(|_| "MISS"), has_body, session, ctx).await?;
        let pieces = if has_body {
            // Who waits for this answer does not wait for its reader.
            let stalled = || drop(leader.take());
            delivery::pass(self, &mut source, keeps, stream, stalled, session, ctx).await?
        } else {
            Some(Vec::new())
        };
        if let (Some((key, ttl)), Some(pieces), true) = (keep, pieces, keeps) {
            self.caller.cache.put(key, Answer { status, fields, pieces }, self.clock.unix() + ttl);
        }
        let idle_timeout = Some(ctx.snapshot.upstream.idle_timeout);
        kept_connections().release_http_session(source.into_upstream(), &peer, idle_timeout).await;
        Ok(())
    }

    /// Holds an answer until the guardrail has judged it; inside, why the client does not get it.
    async fn judge_held(
        &self,
        guardrail: &CompiledGuardrail,
        answered: &ResponseHeader,
        source: &mut AnswerSource,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<std::result::Result<(), GatewayError>> {
        let read = self.read_answer(answered, source, session, ctx).await?;
        let content_type = headers::bytes(&answered.headers, &header::CONTENT_TYPE);
        let content_type = String::from_utf8_lossy(content_type);
        let head = AnswerHead { status: answered.status.as_u16(), content_type: &content_type };
        Ok(self.guardrails.judge_answer(guardrail, head, read.as_ref(), ctx).await)
    }

    /// Holds an answer to its end, and reads it decoded; nothing if it is too long or cannot be decoded.
    pub(super) async fn read_answer(
        &self,
        answered: &ResponseHeader,
        source: &mut AnswerSource,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<Option<Bytes>> {
        let snapshot = Arc::clone(&ctx.snapshot);
        let (longest, most_held) = (snapshot.limits.inspected_body.0, snapshot.limits.inspected_bodies.0);
        let is_whole = source.hold(longest, most_held, session, ctx).await?;
        self.held_bodies.record();
        if !is_whole {
            return Ok(None);
        }
        Ok(request_body::decoded(&source.held(), &answered.headers, &snapshot.limits, &self.offload).await)
    }

    /// Answers from the cache. If the same question is being asked, waits for that answer first; else this request asks.
    pub(super) async fn kept_or_turn(
        &self,
        key: &Key,
        call: &mut Call,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<Found<'_>> {
        if self.answer_from_cache(key, call, session, ctx).await? {
            return Ok(Found::Answered);
        }
        let lead = match self.caller.flights.turn(*key) {
            Turn::Lead(lead) => Some(lead),
            Turn::Wait(mut other) => {
                // Whether it went well or not: an error says that it is over.
                let _ = tokio::time::timeout(MAX_WAIT, other.changed()).await;
                None
            }
        };
        // Also for who leads: whoever led before may have ended after the first look.
        let answered = self.answer_from_cache(key, call, session, ctx).await?;
        Ok(if answered { Found::Answered } else { Found::Turn(lead) })
    }

    /// Answers from the cache; false if it has nothing.
    async fn answer_from_cache(
        &self,
        key: &Key,
        call: &mut Call,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<bool> {
        let Some(answer) = self.caller.cache.get(key, self.clock.unix()) else { return Ok(false) };
        call.cached = true;
        call.asked_at = Some(ctx.started.elapsed());
        let mut head = ResponseHeader::build(answer.status, Some(answer.fields.len() + 8))?;
        for (name, value) in &answer.fields {
            head.append_header(name.clone(), value.clone())?;
        }
        call.begin_answer(&mut head, ctx.started.elapsed())?;
        head.insert_header("svc-aig-cache-status", "HIT")?;
        head.insert_header("svc-ray", &ctx.ray)?;
        delivery::frame(&mut head, session);
        let has_body = session.req_header().method != http::Method::HEAD;
        session.write_response_header(Box::new(head), !has_body).await?;
        for piece in answer.pieces.iter().filter(|_| has_body) {
            let started = ctx.started;
            call.answer_chunk(piece, || started.elapsed());
            session
                .write_response_body(Some(piece.clone()), false)
                .await
                .map_err(|error| error.into_down())?;
        }
        if has_body {
            session.write_response_body(None, true).await.map_err(|error| error.into_down())?;
        }
        Ok(true)
    }
}

/// How long answers of a call are kept, if they are.
pub(super) fn ttl(call: &Call) -> Option<Duration> {
    let named = call.options.cache_key.as_ref().map(|_| cache::NAMED_TTL);
    let by_gateway = Some(call.gateway.settings.cache_ttl).filter(|ttl| !ttl.is_zero());
    call.options.cache_ttl.or(by_gateway).or(named).filter(|ttl| !ttl.is_zero())
}

pub(super) fn question(call: &Call, head: &RequestHeader, body: &Bytes, ctx: &Context) -> Key {
    // Who has no token is known by the address.
    let address = || format!("address {}", ctx.client);
    let caller = call.token.as_ref().map_or_else(address, |token| format!("token {}", token.as_str()));
    let question = Question {
        gateway: &call.gateway.label,
        caller: (!call.gateway.settings.shares_cache).then_some(caller.as_str()),
        provider: &call.provider.slug,
        method: head.method.as_str(),
        target: std::str::from_utf8(head.raw_path()).unwrap_or(""),
        headers: &head.headers,
        name: call.options.cache_key.as_deref(),
        judged_by: call.gateway.answers_judged_by,
        gateway_version: call.gateway.answers_version,
        body,
    };
    question.key()
}
