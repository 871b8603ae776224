//! Rules over requests, and copies of responses: where engines meet the connection.
//!
//! A body of known length up to [`PRE_READ_BYTES`] is read and judged before an origin is asked. A
//! longer one is held back chunk by chunk while the origin has seen the head only: the buffer below
//! us replays no more than that, and forgets a longer body whole.

use std::borrow::Cow;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use pingora::Result;
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::proxy::Session;

use super::context::{Context, Hold, Route, Share};
use super::refusal::Refusal;
use super::rule_watch::RuleWatch;
use super::{Edge, headers, refuse};
use crate::body::decompress;
use crate::conf::BodyPolicy;
use crate::detection::plan::{Plan, Subject};
use crate::detection::tee::Limits;
use crate::ruleset::Outcome;
use crate::ruleset::execute::EntryPoint;
use crate::ruleset::expression::Facts;
use crate::snapshot::{CompiledZone, Scan};
use crate::waf::matcher::BodyLimits;
use crate::waf::{RequestHead, ResponseHead};

/// A body from here on may keep rules or scanners busy for more than a millisecond: it is judged on another thread
/// while the worker goes on with other requests.
pub(super) const OFFLOADED_BYTES: usize = 16 << 10;
/// Longest body that is read before an origin is asked: what Pingora's retry buffer holds.
const PRE_READ_BYTES: usize = 64 << 10;

impl Edge {
    /// Judges a request's head, and its body where that can be had now.
    pub(super) async fn inspect_request(
        &self,
        zone: &CompiledZone,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<()> {
        let Some(entry_point) = &zone.entry_point else { return Ok(()) };
        let limits = ctx.snapshot.limits;
        ctx.times_rules = self.samples_rules();
        let received = self.clock.unix();
        self.run_rules(ctx, |ctx, watch| start_rules(entry_point, received, session, ctx, watch))?;
        if ctx.rules.is_none() {
            return Ok(());
        }
        // An upgraded connection carries frames, not a body.
        if session.is_upgrade_req() {
            return self.judge_body(&Bytes::new(), ctx).await;
        }
        let length = headers::content_length(&session.req_header().headers);
        let length = length.and_then(|length| usize::try_from(length).ok());
        if session.is_body_empty() || length == Some(0) {
            return self.judge_body(&Bytes::new(), ctx).await;
        }
        if length.is_some_and(|length| length > limits.inspected_body.0)
            && limits.inspected_body_policy == BodyPolicy::Refuse
        {
            return refuse(ctx, Refusal::BodyTooLong);
        }
        let waits = headers::expects_continue(&session.req_header().headers);
        if waits {
            session.as_downstream_mut().write_continue_response().await?;
        }
        let mut share = Share::new(&self.held_bodies);
        match length.filter(|length| *length <= PRE_READ_BYTES) {
            Some(length) => {
                if !share.take(length, limits.inspected_bodies.0) {
                    return refuse(ctx, Refusal::TooManyBodies);
                }
                session.enable_retry_buffering();
                let mut body = BytesMut::with_capacity(length);
                while let Some(chunk) =
                    session.read_request_body().await.map_err(pingora::Error::into_down)?
                {
                    body.extend_from_slice(&chunk);
                }
                self.judge_body(&body.freeze(), ctx).await
            }
            None => {
                ctx.hold = Some(Hold { bytes: BytesMut::new(), share });
                Ok(())
            }
        }
    }

    /// Holds a chunk of a long body back; lets all of it go when the rules have seen it.
    pub(super) async fn hold_body(
        &self,
        body: &mut Option<Bytes>,
        end: bool,
        ctx: &mut Context,
    ) -> Result<()> {
        let Some(mut hold) = ctx.hold.take() else { return Ok(()) };
        let limits = ctx.snapshot.limits;
        let chunk = body.take().unwrap_or_default();
        let room = hold.share.take(chunk.len(), limits.inspected_bodies.0);
        hold.bytes.extend_from_slice(&chunk);
        let full = hold.bytes.len() > limits.inspected_body.0;
        match (room && !full, limits.inspected_body_policy) {
            (false, BodyPolicy::Refuse) => {
                return refuse(ctx, if full { Refusal::BodyTooLong } else { Refusal::TooManyBodies });
            }
            (true, _) if !end => {
                // An empty chunk means: nothing to send yet.
                *body = Some(Bytes::new());
                self.count_held_bodies();
                ctx.hold = Some(hold);
                return Ok(());
            }
            // Complete; or too long, and what is here is all that is looked at.
            (_, _) => {}
        }
        let whole = hold.bytes.freeze();
        let seen = whole.slice(..whole.len().min(limits.inspected_body.0));
        if seen.len() < whole.len() || !room {
            self.events
                .emit(&crate::events::kinds::BodyUninspected { ray: &ctx.ray, inspected_bytes: seen.len() });
        }
        self.judge_body(&seen, ctx).await?;
        // An empty last piece would be written as a second terminating chunk.
        *body = (!whole.is_empty()).then_some(whole);
        Ok(())
    }

    /// Shows how many bytes are held now.
    pub(super) fn count_held_bodies(&self) {
        let held = self.held_bodies.load(std::sync::atomic::Ordering::Relaxed);
        self.events.metrics().held_bodies.set(i64::try_from(held).unwrap_or(i64::MAX));
    }

    async fn judge_body(&self, body: &Bytes, ctx: &mut Context) -> Result<()> {
        if body.len() > OFFLOADED_BYTES {
            let body = body.clone();
            self.offload_rules(ctx, move |rules, watch| rules.body(&body, false, watch)).await?;
        } else {
            self.run_rules(ctx, |ctx, watch| {
                if let Some(rules) = &mut ctx.rules {
                    rules.body(body, false, watch);
                }
            })?;
        }
        if ctx.rules.as_ref().is_some_and(crate::ruleset::execute::Run::has_too_many_arguments) {
            return refuse(ctx, Refusal::TooManyArguments);
        }
        Ok(())
    }

    /// Ends the request where the rules refused it.
    pub(super) fn decide(&self, ctx: &mut Context) -> Result<()> {
        let Some(rules) = ctx.rules.as_ref().filter(|rules| rules.is_blocked()) else { return Ok(()) };
        ctx.verdict = rules.verdict();
        match ctx.verdict.outcome {
            Outcome::Blocked { status, .. } => refuse(ctx, Refusal::Rules(status)),
            Outcome::Pass | Outcome::Logged { .. } => Ok(()),
        }
    }

    /// What a response is scanned for; `None` where no rule is for it.
    fn scan_plan<'z>(
        &self,
        scans: &'z [Scan],
        request: &RequestHeader,
        response: &ResponseHeader,
        ctx: &Context,
    ) -> Option<Cow<'z, Plan>> {
        match scans {
            [only] if only.expression.is_everything() => Some(Cow::Borrowed(&only.plan)),
            _ => {
                let fields = headers::fields(request, &ctx.host);
                let head = request_head(request, &fields, self.clock.unix(), ctx);
                let fields = headers::response_fields(response);
                let protocol = headers::protocol(response.version);
                let response = ResponseHead { status: response.status.as_u16(), protocol, headers: &fields };
                let facts =
                    Facts { request: &head, host: &ctx.host, tls: ctx.tls, response: Some(&response) };
                let executed = scans.iter().filter(|scan| scan.expression.matches(&facts));
                Plan::joined(executed.map(|scan| &scan.plan)).map(Cow::Owned)
            }
        }
    }

    /// Begins to copy a response, where its zone asks for it.
    pub(super) fn begin_tee(&self, session: &Session, response: &ResponseHeader, ctx: &mut Context) {
        let Route::Zone(zone) = &ctx.route else { return };
        if zone.scans.is_empty() {
            return;
        }
        let bodiless = session.req_header().method == http::Method::HEAD
            || matches!(response.status.as_u16(), 204 | 304)
            || response.headers.get(http::header::CONTENT_LENGTH).is_some_and(|length| length == "0");
        if bodiless {
            return;
        }
        let Some(plan) = self.scan_plan(&zone.scans, session.req_header(), response, ctx) else { return };
        let limits = ctx.snapshot.limits;
        let limits = Limits {
            scanned_bytes: limits.scanned_body.0,
            decompression: decompress::Limits {
                output_bytes: limits.decompressed_body.0,
                ratio: limits.decompression_ratio,
            },
        };
        let subject = Subject {
            ray: ctx.ray.clone(),
            zone: zone.name.clone(),
            host: ctx.host.clone(),
            path: session.req_header().uri.path().to_owned(),
        };
        let content_type = headers::bytes(&response.headers, &http::header::CONTENT_TYPE);
        let content_encoding = headers::bytes(&response.headers, &http::header::CONTENT_ENCODING);
        ctx.tee = self.scans.tee(&plan, limits, content_type, content_encoding, subject).map(Box::new);
    }
}

fn start_rules(
    entry_point: &EntryPoint,
    received: Duration,
    session: &Session,
    ctx: &mut Context,
    watch: &mut RuleWatch,
) {
    let request = session.req_header();
    let fields = headers::fields(request, &ctx.host);
    let head = request_head(request, &fields, received, ctx);
    let facts = Facts { request: &head, host: &ctx.host, tls: ctx.tls, response: None };
    let limits = ctx.snapshot.limits;
    let limits = BodyLimits {
        arguments: limits.arguments,
        json_depth: limits.json_depth,
        multipart_parts: limits.multipart_parts,
    };
    let run = entry_point.start(&facts, limits, watch);
    ctx.rules = (!run.is_empty()).then_some(run);
}

fn request_head<'r>(
    request: &'r RequestHeader,
    fields: &'r [(&'r [u8], &'r [u8])],
    received: Duration,
    ctx: &'r Context,
) -> RequestHead<'r> {
    RequestHead {
        method: request.method.as_str().as_bytes(),
        target: request.raw_path(),
        protocol: headers::protocol(request.version),
        headers: fields,
        client: ctx.client,
        request_id: &ctx.ray,
        received,
    }
}
