//! How a request ended: our own answers, what origins did, and the events of it all.

use std::sync::Arc;
use std::time::Duration;

use percent_encoding::utf8_percent_encode;
use pingora::http::ResponseHeader;
use pingora::proxy::{FailToProxy, Session};
use pingora::{Error, ErrorSource, ErrorType};

use super::call::{self, Call, End};
use super::context::{Context, Route};
use super::forwarded_session::ORIGIN_SILENT;
use super::refusal::Refusal;
use super::respond::{self, Form};
use super::{Edge, headers};
use crate::admission;
use crate::events::kinds::{
    Contribution, GatewayRequest, OriginChanged, RequestFinished, RequestRefused, RuleMatched, SecurityEvent,
};
use crate::events::{Event, Level};
use crate::listener::ConnectionMeta;
use crate::ruleset::actions::redirect::NOT_IN_URIS;
use crate::ruleset::{Action, Outcome, Phase, ToldRule};
use crate::snapshot::Site;
use crate::upstream::Origin;
use ::gateway::answer::GatewayError;
use seclang::ResponseHead;

/// Longest body that is read after a refusal so that its connection can be used again.
const MAX_DRAINED_BYTES: u64 = 64 << 10;
/// Most bytes that are read after a refusal so that the client gets its answer, and how long they are waited for.
const MAX_LINGER_BYTES: usize = 16 << 20;
const DRAIN: Duration = Duration::from_secs(1);

impl Edge {
    /// Answers a request that failed, if the client still listens.
    pub(super) async fn answer(
        &self,
        session: &mut Session,
        error: &Error,
        ctx: &mut Context,
    ) -> FailToProxy {
        if let Some(Refusal::Challenge { level, for_request }) = ctx.refusal {
            self.challenges.make_page(level, for_request, session, ctx).await;
        }
        ctx.body.end(session);
        let has_bad_body =
            ConnectionMeta::of(session.digest()).is_some_and(|meta| meta.progress.has_bad_body());
        let refusal = ctx.refusal.or_else(|| match has_bad_body {
            true => Some(Refusal::BodyBrokenOff),
            false => of_error(error, ctx),
        });
        // 1xx come before an answer (RFC 9110 section 15.2); 101 is one.
        let is_answered = session
            .response_written()
            .is_some_and(|head| !head.status.is_informational() || head.status == 101);
        let Some(refusal) = refusal.filter(|_| !is_answered) else {
            if session.is_http2() {
                // What was begun must not look whole. A connection of HTTP/1 is closed by the framework.
                session.as_downstream_mut().shutdown().await;
            }
            return FailToProxy { error_code: 0, can_reuse_downstream: false };
        };
        ctx.refusal = Some(refusal);
        // A body that was not read would be taken for the next request.
        let unread = !session.as_downstream_mut().is_body_done();
        let is_kept_kind = matches!(
            refusal,
            Refusal::Rules(_)
                | Refusal::Rate(_)
                | Refusal::Redirect(_)
                | Refusal::Challenge { .. }
                | Refusal::BadSolution
                | Refusal::Gateway(_)
                | Refusal::UnknownHost
        );
        let waits = !session.is_http2()
            && headers::expects_continue(session.req_header())
            && session.response_written().is_none();
        // A short body is here already, or nearly: reading it costs less than another connection.
        let drains = unread
            && !waits
            && headers::content_length(&session.req_header().headers).is_some_and(|n| n <= MAX_DRAINED_BYTES);
        // The framework closes the connection of a request that it has begun to forward.
        let keep = is_kept_kind && (!unread || drains) && !ctx.is_forwarded;
        if !keep {
            session.set_keepalive(None);
        }
        if drains {
            session.as_downstream_mut().set_close_on_response_before_downstream_finish(false);
        }
        let form = Form::of_accept(headers::bytes(&session.req_header().headers, &http::header::ACCEPT));
        if let Ok((mut header, body)) = respond::refusal(
            refusal,
            &ctx.ray,
            form,
            ctx.block_response.as_deref(),
            ctx.challenge_page.as_deref(),
        ) {
            say_why(&mut header, refusal, session, ctx);
            // The client may be gone: then there is nobody to tell.
            let is_head = session.req_header().method == http::Method::HEAD;
            if session.write_response_header(Box::new(header), is_head).await.is_ok() {
                let body = (!is_head).then_some(body);
                let _ = session.write_response_body(body, true).await;
            }
        }
        // After the answer: a connection that is closed while bytes come is reset, and the answer lost with it.
        let is_drained = !unread || !waits && drained(session).await;
        if !keep && !session.is_http2() {
            session.as_downstream_mut().shutdown().await;
        }
        FailToProxy { error_code: refusal.status(), can_reuse_downstream: keep && is_drained }
    }
}

/// Adds the fields that say why a request is refused, and what its client can do.
fn say_why(header: &mut ResponseHeader, refusal: Refusal, session: &Session, ctx: &Context) {
    if is_for_gateway(session, ctx) && !matches!(refusal, Refusal::Gateway(_)) {
        // INVARIANT: a number is a valid value.
        let _ = header.insert_header("svc-aig-error", GatewayError::BadRequest.code());
    }
    if let (Refusal::Rules(300..=399), Some(location)) = (refusal, &ctx.verdict.location) {
        let location = utf8_percent_encode(location, NOT_IN_URIS).to_string();
        // INVARIANT: printable ASCII is a valid value.
        let _ = header.insert_header(http::header::LOCATION, location);
    }
    if let (Refusal::Redirect(_), Some(location)) = (refusal, &ctx.location) {
        // INVARIANT: it is printable ASCII.
        let _ = header.insert_header(http::header::LOCATION, location.as_str());
    }
    if let Some(exceeded) = ctx.rate_exceeded {
        for (name, value) in headers::rate_fields(exceeded) {
            // INVARIANT: a number is a valid value.
            let _ = header.insert_header(name, value);
        }
    }
    if let Some((measure, remaining)) = ctx.exceeded {
        let (name, value) = call::remaining_field(measure, remaining);
        // INVARIANT: a number is a valid value.
        let _ = header.insert_header(name, value);
    }
    if let Some(reason) = &ctx.reason {
        let printable: String = reason.chars().filter(|c| (' '..='~').contains(c)).take(400).collect();
        // INVARIANT: printable ASCII is a valid value.
        let _ = header.insert_header("svc-aig-warning", printable);
    }
    if let Some(blocked) = &ctx.blocked_for {
        // INVARIANT: ids of rules and words of ours are printable ASCII.
        let _ = header.insert_header("svc-aig-dlp", blocked.verdict.as_str());
    }
}

/// Whether a request is for a gateway host, also if it was refused before that was looked at.
fn is_for_gateway(session: &Session, ctx: &Context) -> bool {
    let host = || {
        let named = session.req_header().headers.get(http::header::HOST)?.to_str().ok()?;
        let mut buffer = String::new();
        let host = admission::host::normal_form(named, &mut buffer).ok()?;
        Some(matches!(ctx.snapshot.sites.find(host), Some(Site::Gateway)))
    };
    matches!(ctx.route, Route::Gateway(_)) || host().unwrap_or(false)
}

/// Reads what still comes of a body, for a while; true if that was all.
async fn drained(session: &mut Session) -> bool {
    let all = async {
        let mut bytes = 0;
        while bytes < MAX_LINGER_BYTES {
            match session.as_downstream_mut().read_request_body().await {
                Ok(Some(piece)) => bytes += piece.len(),
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
        false
    };
    tokio::time::timeout(DRAIN, all).await.unwrap_or(false)
}

/// What an error of the connection below means; `None` if the client itself is gone.
fn of_error(error: &Error, ctx: &Context) -> Option<Refusal> {
    let gateway = matches!(ctx.route, Route::Gateway(_));
    let refusal = match (error.esource(), error.etype()) {
        (
            ErrorSource::Downstream,
            ErrorType::ReadError | ErrorType::WriteError | ErrorType::ConnectionClosed,
        ) => return None,
        (_, etype) if *etype == ORIGIN_SILENT => Refusal::OriginTimeout,
        (ErrorSource::Downstream, ErrorType::ReadTimedout) => return Some(Refusal::BodyTimeout),
        (ErrorSource::Downstream, _) => return Some(Refusal::BodyBrokenOff),
        (ErrorSource::Upstream, ErrorType::ReadTimedout | ErrorType::WriteTimedout) => Refusal::OriginTimeout,
        (
            ErrorSource::Upstream,
            ErrorType::ConnectTimedout
            | ErrorType::ConnectRefused
            | ErrorType::ConnectNoRoute
            | ErrorType::ConnectError
            | ErrorType::TLSHandshakeFailure
            | ErrorType::TLSHandshakeTimedout
            | ErrorType::InvalidCert
            | ErrorType::HandshakeError,
        ) => Refusal::OriginUnreachable,
        (ErrorSource::Upstream, _) => Refusal::OriginBroken,
        (ErrorSource::Internal | ErrorSource::Unset, _) => Refusal::Internal,
    };
    Some(if gateway { Refusal::Gateway(GatewayError::ProviderFailed) } else { refusal })
}

/// An origin could not be reached or broke off.
pub(super) fn origin_failed(edge: &Edge, ctx: &Context, origin: &Arc<Origin>, now: Duration) {
    if origin.failed(now) {
        let event = OriginChanged {
            zone: ctx.zone_label().name,
            origin: &origin.key.url,
            up: false,
            reason: "failed requests",
        };
        edge.events.emit(&event);
    }
}

/// An origin answered.
pub(super) fn origin_answered(edge: &Edge, ctx: &Context, origin: &Arc<Origin>, status: u16) {
    // A provider that says it cannot answer is one that does not; what a site's origin says is its answer.
    if matches!(ctx.route, Route::Gateway(_)) && matches!(status, 502 | 503 | 504 | 529) {
        return origin_failed(edge, ctx, origin, edge.clock.unix());
    }
    if origin.answered() {
        let event = OriginChanged {
            zone: ctx.zone_label().name,
            origin: &origin.key.url,
            up: true,
            reason: "answered",
        };
        edge.events.emit(&event);
    }
}

/// The events of a request, once, at its end.
pub(super) fn record(edge: &Edge, session: &Session, error: Option<&Error>, ctx: &mut Context) {
    ctx.attempt = None;
    ctx.response_hold = None;
    edge.held_bodies.record();
    let client = ctx.client_text.clone();
    let client = client.to_str().unwrap_or("");
    let written = session.response_written().map_or(0, |response| response.status.as_u16());
    // What no origin answered is counted by our own answer.
    edge.inspection.settle_rates(session, session.response_written(), ctx);
    // 499: the client went away before there was an answer.
    let status = if written < 200 && written != 101 { 499 } else { written };
    if let Some(mut rules) = ctx.rules.take() {
        rules.finish();
        if rules.has_audit_log() {
            let fields = session.response_written().map(headers::response_fields).unwrap_or_default();
            let protocol = headers::protocol(session.req_header().version);
            let written = ResponseHead { status, protocol, headers: &fields };
            rules.audit_records(&written).for_each(|record| edge.audit.write(record));
        }
        let metrics = edge.events.metrics();
        metrics.waf_duration.observe(ctx.rules_time.as_secs_f64());
        if ctx.verdict.outcome == Outcome::Pass {
            ctx.verdict = rules.verdict();
        }
        #[expect(clippy::cast_precision_loss, reason = "scores are small")]
        metrics.waf_score.observe(ctx.verdict.score as f64);
        if edge.events.writes(Level::Debug) {
            rule_matches(edge, ctx);
        }
    }
    let request = session.req_header();
    security_events(edge, session, client, status, ctx);
    if let Some(refusal) = ctx.refusal {
        let (reason, status) = (refusal.word(), refusal.status());
        let (method, host, zone) = (request.method.as_str(), ctx.host.as_str(), ctx.zone_label());
        let (path, _) = sent_path(session, ctx);
        let refused = RequestRefused { ray: &ctx.ray, client, reason, status, method, host, path, zone };
        match refusal {
            // The security event tells more.
            Refusal::Rules(_) | Refusal::Rate(_) | Refusal::Challenge { .. } => {
                refused.count(edge.events.metrics())
            }
            // An answer, not a refusal.
            Refusal::Redirect(_) => {}
            _ => edge.events.emit(&refused),
        }
    }
    let duration = ctx.started.elapsed();
    gateway_call(edge, error, status, duration, ctx);
    let (path, _) = sent_path(session, ctx);
    edge.events.emit(&RequestFinished {
        ray: &ctx.ray,
        client,
        method: request.method.as_str(),
        host: &ctx.host,
        path,
        protocol: headers::protocol(request.version),
        status,
        origin_status: ctx.origin_status,
        bytes: session.body_bytes_sent(),
        zone: ctx.zone_label().name,
        verdict: ctx.verdict_word(),
        duration_ms: duration.as_secs_f64() * 1000.0,
        // What we refuse has its reason in words; what failed below us has it here.
        error: error.filter(|error| !matches!(error.etype(), ErrorType::HTTPStatus(_))).map(|error| {
            let context = error.context.as_ref().map_or("", |context| context.as_str());
            let cause = error.cause.as_ref().map_or_else(String::new, |cause| format!(": {cause}"));
            format!("{}: {}: {context}{cause}", error.esource().as_str(), error.etype().as_str())
        }),
        snapshot: ctx.snapshot.revision,
    });
}

/// A gateway's call ended: counted, and handed to the recorder if a provider was asked.
fn gateway_call(edge: &Edge, error: Option<&Error>, status: u16, duration: Duration, ctx: &mut Context) {
    let Route::Gateway(route) = &mut ctx.route else { return };
    let outcome = match (ctx.refusal, error) {
        (Some(Refusal::Gateway(error)), _) => error.outcome(),
        (Some(_), _) => "failed",
        (None, Some(error)) if *error.esource() == ErrorSource::Downstream => "cancelled",
        (None, Some(_)) => "failed",
        (None, None) => "forwarded",
    };
    let (gateway, provider) = (route.label.as_str(), route.provider.as_str());
    edge.events.emit(&GatewayRequest {
        ray: &ctx.ray,
        gateway,
        provider,
        outcome,
        status,
        seconds: duration.as_secs_f64(),
    });
    let Some(call) = route.call.take().filter(|call| call.asked_at.is_some()) else { return };
    let error = match outcome {
        "forwarded" => None,
        "failed" if ctx.origin_status != 0 => Some("truncated"),
        other => Some(other),
    };
    call_ended(edge, call, status, error, ctx);
}

/// Hands a call over that a provider was asked for; `error` is nothing if all went well.
pub(super) fn call_ended(edge: &Edge, call: Call, status: u16, error: Option<&'static str>, ctx: &Context) {
    let duration = ctx.started.elapsed();
    let created_at = crate::clock::rfc3339(edge.clock.now() - duration);
    let prices = Arc::clone(&ctx.snapshot.gateways.prices);
    let findings = ctx.blocked_for.as_ref().map_or_else(Vec::new, |blocked| blocked.findings.clone());
    let end = End { status, error, duration, findings };
    edge.recorder.finish(call.finish(end, prices, &ctx.ray, created_at));
}

fn rule_matches(edge: &Edge, ctx: &Context) {
    for m in &ctx.verdict.matches {
        edge.events.emit(&RuleMatched {
            ray: &ctx.ray,
            reference: m.rule.to_string(),
            description: &m.message,
            place: &m.place,
            phase: m.phase.number(),
            severity: m.severity_word().unwrap_or(""),
            score: m.score,
            variable: m.variable(),
            data: &m.data,
            tags: &m.tags,
        });
    }
}

/// The events of rules: of those that people wrote each for itself, of managed ones the one that decided.
fn security_events(edge: &Edge, session: &Session, client: &str, status: u16, ctx: &Context) {
    for ToldRule { source, phase, action } in &ctx.decisions.told {
        edge.events.emit(&SecurityEvent {
            action: action.word(),
            source: phase.source().0,
            ruleset_id: &source.ruleset,
            rule_id: &source.id,
            reference: &source.reference,
            description: source.description.clone(),
            ..of_request(session, client, status, ctx)
        });
    }
    let Some(rule) = ctx.verdict.outcome.rule() else { return };
    if ctx.decisions.told.last().is_some_and(|told| told.action.ends_requests()) {
        return;
    }
    let acted = ctx.verdict.matches.iter().find(|m| rule.is_of(m));
    let contributions = ctx.verdict.matches.iter().filter(|m| m.score != 0).map(|m| Contribution {
        reference: m.rule.to_string(),
        description: m.message.clone(),
        score: m.score,
        variable: m.variable().to_owned(),
    });
    edge.events.emit(&SecurityEvent {
        action: ctx.verdict.outcome.action().map_or("", Action::word),
        source: Phase::HttpRequestFirewallManaged.source().0,
        ruleset_id: rule.ruleset.as_str(),
        rule_id: rule.id.as_str(),
        reference: &rule.reference,
        description: acted.map_or_else(String::new, |m| m.message.clone()),
        score: ctx.verdict.score,
        contributions: contributions.collect(),
        ..of_request(session, client, status, ctx)
    });
}

/// Path and query as the client sent them, whatever rules made of them.
fn sent_path<'r>(session: &'r Session, ctx: &'r Context) -> (&'r str, &'r str) {
    let uri = &session.req_header().uri;
    match ctx.sent_target.as_deref().map(std::str::from_utf8) {
        Some(Ok(sent)) => sent.split_once('?').unwrap_or((sent, "")),
        Some(Err(_)) | None => (uri.path(), uri.query().unwrap_or("")),
    }
}

/// What events say of the request.
fn of_request<'r>(session: &'r Session, client: &'r str, status: u16, ctx: &'r Context) -> SecurityEvent<'r> {
    let request = session.req_header();
    let (path, query) = sent_path(session, ctx);
    let user_agent = request.headers.get(http::header::USER_AGENT).and_then(|value| value.to_str().ok());
    SecurityEvent {
        ray: &ctx.ray,
        action: "",
        source: "",
        ruleset_id: "",
        rule_id: "",
        reference: "",
        description: String::new(),
        client,
        method: request.method.as_str(),
        host: &ctx.host,
        path,
        query,
        protocol: headers::protocol(request.version),
        user_agent: user_agent.unwrap_or(""),
        status,
        zone: ctx.zone_label(),
        score: 0,
        contributions: Vec::new(),
    }
}
