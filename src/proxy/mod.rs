//! The journey of a request: the only implementation of Pingora's proxy trait.
//!
//! Each filter calls one step and comes back; no step calls the next. The order is Pingora's:
//!
//! 1. `early_request_filter`: who it is from, and whether it may come in (`admission`)
//! 2. `request_filter`: where it goes (`routing`, `ai`), what the rules say (`ruleset`); everything that may
//!    refuse a request decides here, with its body, before an upstream hears of it. Then a kept response is looked for
//!    (`response_cache`), and if there is one its way is that of 5
//! 3. `upstream_peer`, `upstream_request_filter`: which origin, and what it is told (`upstream`)
//! 4. `request_body_filter`: the body on its way, a copy to `ai`
//! 5. `response_filter`, `response_body_filter`: on to the client, a copy to `detection`
//! 6. `fail_to_proxy`: the answer we make ourselves; `logging`: what happened (`events`)

mod admit;
mod affinity;
mod answer;
mod attempts;
mod basic_auth;
mod block_lists;
mod caching;
mod call;
mod call_estimate;
mod challenges;
mod compressing;
mod context;
mod delivery;
mod door;
mod dynamic_route;
mod edge;
mod error_pages;
mod facts;
mod field_edits;
mod flight;
mod forward_auth;
mod forwarded_session;
mod gateway;
mod guardrail;
mod headers;
mod held_bodies;
mod hostname_route;
mod inspect;
mod inspect_response;
mod loops;
mod mcp;
mod messages;
mod names;
mod offload;
mod open_calls;
mod origin_request;
mod origin_response;
mod origin_timeout;
mod outcome;
mod prescan;
mod ray;
mod record_pool;
mod record_targets;
mod refusal;
mod request_body;
mod respond;
mod response_copy;
mod rule_watch;
mod service_client;
mod step_answers;
mod steps;
mod tls_only;
mod tracing;
mod universal;
mod zone_request;
mod zone_traffic;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use pingora::cache::key::{CacheKey, HashBinary};
use pingora::cache::{CacheMeta, RespCacheable};
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::modules::http::HttpModules;
use pingora::proxy::{FailToProxy, ProxyHttp, RangeType, Session};
use pingora::upstreams::peer::HttpPeer;
use pingora::{Error, Result};

pub use context::Context;
use context::{InFlight, Route};
pub use door::Door;
pub use edge::{Edge, EdgeParts};
use forwarded_session::{AnswerTimeout, ORIGIN_SILENT};
use refusal::{Refusal, refuse};

use crate::listener::is_multiplexed;
use crate::snapshot::Site;
use crate::upstream::peer;
use ::gateway::answer::GatewayError;
use ::gateway::body_copy::BodyCopy;

/// Attempts at a request, the first included.
const MAX_ATTEMPTS: usize = 3;

#[async_trait]
impl ProxyHttp for Edge {
    type CTX = Context;

    fn new_ctx(&self) -> Context {
        Context::new(self.snapshots.load(), self.clock.start(), self.loop_name.clone())
    }

    fn init_downstream_modules(&self, _: &mut HttpModules) {
        // None: the one that comes by default compresses, and bodies pass untouched here.
    }

    async fn early_request_filter(&self, session: &mut Session, ctx: &mut Context) -> Result<()> {
        ctx.ray = self.rays.next();
        let refused = admit::note_client(session, ctx);
        if is_multiplexed(session) {
            headers::join_cookies(session.req_header_mut());
            // The framework names the host to origins for HTTP/2 alone.
            headers::name_host(session.req_header_mut())?;
        }
        self.begin_trace(session, ctx)?;
        let is_http_10 = session.req_header().version == http::Version::HTTP_10;
        // HTTP/1.0 knows no 1xx (RFC 9110 section 15.2).
        session.as_downstream_mut().set_ignore_info_resp(is_http_10);
        // 0: kept as long as the listener lets it be idle.
        session.set_keepalive(Some(0));
        session.set_read_timeout(Some(ctx.snapshot.limits.idle_timeout));
        // Over HTTP/2 a client may leave one stream alone of many.
        session.as_downstream_mut().set_write_timeout(Some(ctx.snapshot.limits.write_timeout));
        if let Some(refused) = refused {
            return refuse(ctx, Refusal::Admission(refused));
        }
        match admit::admit(session, ctx) {
            Ok(host) => {
                ctx.host = host;
                ctx.is_web_socket = headers::is_web_socket(session.req_header());
                Ok(())
            }
            Err(refused) => refuse(ctx, Refusal::Admission(refused)),
        }
    }

    async fn request_filter(&self, session: &mut Session, ctx: &mut Context) -> Result<bool> {
        let snapshot = Arc::clone(&ctx.snapshot);
        if tls_only::answer_challenge(session, ctx).await? {
            return Ok(true);
        }
        let site = match self.site(&snapshot, ctx) {
            Ok(site) => site,
            Err(refusal) => return refuse(ctx, refusal),
        };
        match site {
            Some(Site::Zone(zone)) => {
                if self.take_zone_request(zone, &snapshot, session, ctx).await? {
                    return Ok(true);
                }
            }
            Some(Site::Gateway) => {
                // Boxed, for it is large and requests of zones need it not.
                if Box::pin(self.answer_gateway(session, ctx)).await? {
                    return Ok(true);
                }
            }
            Some(Site::Names) => {
                Box::pin(self.answer_query(session, ctx)).await?;
                return Ok(true);
            }
            None => return refuse(ctx, Refusal::UnknownHost),
        }
        if !ctx.is_web_socket {
            // Else an origin could make a tunnel of a request that was judged as one.
            session.req_header_mut().remove_header(&http::header::UPGRADE);
        }
        let waits = !ctx.body.is_held() && headers::expects_continue(session.req_header());
        if waits && ctx.pool().is_some_and(|pool| pool.speaks_http2()) {
            // Servers of HTTP/2 seldom send 100, and without one the client waits.
            session.as_downstream_mut().write_continue_response().await?;
            session.req_header_mut().remove_header(&http::header::EXPECT);
        }
        let mut body = std::mem::take(&mut ctx.body);
        let patience = AnswerTimeout::new(self.clock, ctx.read_timeout());
        body.release(session, ctx.is_web_socket, patience);
        ctx.body = body;
        Ok(false)
    }

    fn request_cache_filter(&self, session: &mut Session, ctx: &mut Context) -> Result<()> {
        self.caching.begin(session, ctx);
        Ok(())
    }

    fn cache_key_callback(&self, session: &Session, ctx: &mut Context) -> Result<CacheKey> {
        Ok(self.caching.key(session, ctx))
    }

    fn cache_miss(&self, session: &mut Session, _: &mut Context) {
        caching::miss(session);
    }

    fn cache_vary_filter(
        &self,
        meta: &CacheMeta,
        _: &mut Context,
        request: &RequestHeader,
    ) -> Option<HashBinary> {
        caching::variance(meta, request)
    }

    fn response_cache_filter(
        &self,
        session: &Session,
        response: &ResponseHeader,
        ctx: &mut Context,
    ) -> Result<RespCacheable> {
        Ok(self.caching.keep(session, response, ctx))
    }

    fn range_header_filter(
        &self,
        session: &mut Session,
        response: &mut ResponseHeader,
        ctx: &mut Context,
    ) -> RangeType {
        caching::ranges(session, response, ctx)
    }

    fn should_serve_stale(&self, session: &mut Session, ctx: &mut Context, error: Option<&Error>) -> bool {
        let is_served = caching::may_be_stale(error, session, ctx);
        if is_served {
            // The request is answered after all.
            ctx.refusal = None;
        }
        is_served
    }

    async fn upstream_peer(&self, session: &mut Session, ctx: &mut Context) -> Result<Box<HttpPeer>> {
        ctx.attempt = None;
        ctx.is_forwarded = true;
        let Some(pool) = ctx.pool() else {
            let refusal = ctx.record_pool.refusal().unwrap_or(Refusal::NoOrigin);
            return refuse(ctx, refusal);
        };
        let is_of_record = ctx.record_pool.is(&pool);
        let now = self.clock.unix();
        let client = affinity::client(&pool, session, ctx);
        let origin = pool.choose(&ctx.tried, now, client.as_deref());
        let Some(origin) = origin else { return refuse(ctx, Refusal::NoOrigin) };
        ctx.tried.push(Arc::clone(&origin));
        let Ok(address) = origin.address(now).await else {
            outcome::origin_failed(self, ctx, &origin, now);
            let refusal =
                if is_of_record { Refusal::OriginNameUnresolved } else { Refusal::OriginUnreachable };
            return refuse(ctx, refusal);
        };
        if is_of_record && !ctx.snapshot.dns.may_be_origin(address.ip()) {
            return refuse(ctx, Refusal::ProhibitedOrigin);
        }
        if ctx.call().is_some_and(|call| !call.provider.may_be_at(address.ip())) {
            return refuse(ctx, Refusal::Gateway(GatewayError::InvalidProvider));
        }
        let mut peer = peer::peer(&origin, address, &ctx.snapshot.upstream);
        origin_request::begin_connection(&mut peer, &pool, session, ctx);
        peer.options.read_timeout = Some(origin_timeout::origin_timeout(session, ctx));
        hostname_route::name_peer(&mut peer, is_of_record, ctx);
        ctx.attempt = Some(InFlight { _guard: origin.begin(), origin, begun: self.clock.start() });
        Ok(Box::new(peer))
    }

    async fn upstream_request_filter(
        &self,
        session: &mut Session,
        request: &mut RequestHeader,
        ctx: &mut Context,
    ) -> Result<()> {
        caching::tell_codings(session, request)?;
        match &ctx.route {
            Route::Gateway(route) => {
                gateway::to_provider(route, &ctx.snapshot, request)?;
                let elapsed = ctx.started.elapsed();
                if let Some(call) = ctx.call() {
                    call.asked_at = Some(elapsed);
                    call.unanswered += u32::from(std::mem::replace(&mut call.is_sent, true));
                    // Each attempt sends the body from its beginning.
                    call.request = BodyCopy::default();
                }
                Ok(())
            }
            Route::Zone(_) | Route::Names | Route::Unknown => origin_request::to_origin(request, ctx),
        }
    }

    async fn request_body_filter(
        &self,
        session: &mut Session,
        body: &mut Option<Bytes>,
        end: bool,
        ctx: &mut Context,
    ) -> Result<()> {
        if ctx.messages.is_some() {
            // The framework ends a request at once only for errors of its client.
            self.inspection
                .judge_messages(session, body, end, ctx)
                .await
                .map_err(|error| error.into_down())?;
        }
        if session.was_upgraded() {
            return self.check_caller(ctx).map_err(|error| error.into_down());
        }
        let Some(chunk) = body else { return Ok(()) };
        if let Some(call) = ctx.call() {
            call.request.push(chunk);
        }
        zone_traffic::count_upload(chunk.len(), ctx)
    }

    async fn response_filter(
        &self,
        session: &mut Session,
        response: &mut ResponseHeader,
        ctx: &mut Context,
    ) -> Result<()> {
        let taken = self.take_response(session, response, ctx);
        if let Err(error) = &taken
            && caching::is_kept(session)
        {
            // The framework has no answer of ours for these, and closes their connection.
            session.set_keepalive(None);
            self.answer(session, error, ctx).await;
        }
        taken
    }

    fn response_body_filter(
        &self,
        session: &mut Session,
        body: &mut Option<Bytes>,
        end: bool,
        ctx: &mut Context,
    ) -> Result<Option<Duration>> {
        if let Some(page) = &mut ctx.error_body {
            *body = page.next();
            return Ok(None);
        }
        if let (Some(tee), Some(chunk), false) = (ctx.tee.as_mut(), body.as_ref(), session.was_upgraded()) {
            tee.push(chunk);
        }
        self.check_caller(ctx)?;
        let started = ctx.started;
        // The first frames may come with the head, before the session is upgraded.
        let is_upgraded = ctx.origin_status == 101;
        if let (Some(chunk), Some(call)) = (body.as_ref(), ctx.call()) {
            if is_upgraded {
                call.upgraded_chunk(chunk, || started.elapsed());
            } else {
                call.answer_chunk(chunk, || started.elapsed());
            }
        }
        if ctx.response_hold.is_some() && !session.was_upgraded() {
            self.inspection.hold_response(body, end, ctx)?;
        }
        compressing::compress(body, end, ctx)?;
        Ok(None)
    }

    async fn response_trailer_filter(
        &self,
        _: &mut Session,
        _: &mut http::HeaderMap,
        ctx: &mut Context,
    ) -> Result<Option<Bytes>> {
        // Trailers end a compressed body in their place.
        let mut rest = None;
        compressing::compress(&mut rest, true, ctx)?;
        Ok(rest)
    }

    fn fail_to_connect(
        &self,
        session: &mut Session,
        _: &HttpPeer,
        ctx: &mut Context,
        mut error: Box<Error>,
    ) -> Box<Error> {
        if let Some(attempt) = ctx.attempt.take() {
            outcome::origin_failed(self, ctx, &attempt.origin, self.clock.unix());
        }
        // Nothing was sent. A request that may have effects is still not repeated: the client decides.
        let again = session.req_header().method.is_idempotent()
            && ctx.tried.len() < MAX_ATTEMPTS
            && ctx.pool().is_some_and(|pool| pool.origins.len() > ctx.tried.len());
        error.set_retry(again);
        error
    }

    fn error_while_proxy(
        &self,
        peer: &HttpPeer,
        session: &mut Session,
        error: Box<Error>,
        ctx: &mut Context,
        reused: bool,
    ) -> Box<Error> {
        let mut error = error.more_context(format!("peer {peer}"));
        let untouched = ctx.refusal.is_none() && ctx.origin_status == 0;
        if untouched
            && !reused
            && (*error.esource() == pingora::ErrorSource::Upstream || *error.etype() == ORIGIN_SILENT)
            && let Some(attempt) = &ctx.attempt
        {
            outcome::origin_failed(self, ctx, &Arc::clone(&attempt.origin), self.clock.unix());
        }
        let repeatable = untouched
            && ctx.tried.len() < MAX_ATTEMPTS
            && session.req_header().method.is_idempotent()
            && !session.as_ref().retry_buffer_truncated();
        if repeatable {
            // A kept connection that the origin closed meanwhile says nothing about the origin.
            error.retry.decide_reuse(reused);
            if reused && error.retry() {
                ctx.tried.pop();
            }
        } else {
            error.set_retry(false);
        }
        error
    }

    fn suppress_error_log(&self, _: &Session, _: &Context, _: &Error) -> bool {
        // The request's own line carries the error.
        true
    }

    async fn fail_to_proxy(&self, session: &mut Session, error: &Error, ctx: &mut Context) -> FailToProxy {
        self.answer(session, error, ctx).await
    }

    async fn logging(&self, session: &mut Session, error: Option<&Error>, ctx: &mut Context) {
        if let Some(tee) = ctx.tee.take() {
            tee.finish();
        }
        ctx.body.end(session);
        self.caching.record(ctx);
        outcome::record(self, session, error, ctx);
        self.challenges.count_passed(ctx);
    }
}
