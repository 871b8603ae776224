//! How a request ended: what origins did, and the events of it all.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pingora::proxy::Session;
use pingora::{Error, ErrorSource, ErrorType};

use super::caching::CacheStatus;
use super::call::{Call, End};
use super::context::{Context, InFlight, Route};
use super::facts::with_facts;
use super::record_pool::RecordPool;
use super::refusal::Refusal;
use super::{Edge, headers};
use crate::clock::milliseconds;
use crate::events::kinds::{
    ChangingRule, GatewayRequest, OriginChanged, RequestFinished, RequestRefused, RuleMatched, SecurityEvent,
};
use crate::events::{Event, Level};
use crate::ruleset::{ActedRule, Action, ManagedRuleset, Outcome, Phase, ToldRule};
use crate::upstream::Origin;
use expression::ToldValue;
use model::security_record::Contribution;
use seclang::ResponseHead;

/// Longest name of a variable in an event.
const MAX_NAME_CHARACTERS: usize = 256;

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

/// Observes how long an origin of a zone took to answer. Those of records are as many as there are records.
pub(super) fn observe_answer(edge: &Edge, ctx: &Context, attempt: &InFlight) {
    if let (Route::Zone(zone), RecordPool::OfZone) = (&ctx.route, &ctx.record_pool) {
        let labels = [zone.name.as_str(), attempt.origin.key.url.as_str()];
        let seconds = attempt.begun.elapsed().as_secs_f64();
        edge.events.metrics().origin_response.with_label_values(&labels).observe(seconds);
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
        metrics.waf_score.observe(ctx.verdict.score.all as f64);
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
            // A browser that has not asked for the password yet.
            Refusal::Unauthenticated if !request.headers.contains_key(http::header::AUTHORIZATION) => {
                refused.count(edge.events.metrics());
            }
            // Who is sent to sign in.
            Refusal::ForwardAuth(_) => refused.count(edge.events.metrics()),
            // Answers, not refusals.
            Refusal::Redirect(_) | Refusal::ErrorPage(_) => {}
            _ => edge.events.emit(&refused),
        }
    }
    let duration = ctx.started.elapsed();
    gateway_call(edge, error, status, duration, ctx);
    request_finished(edge, session, error, (client, status, duration), ctx);
}

/// The line of a request.
fn request_finished(
    edge: &Edge,
    session: &Session,
    error: Option<&Error>,
    (client, status, duration): (&str, u16, Duration),
    ctx: &Context,
) {
    let request = session.req_header();
    let (path, query) = sent_path(session, ctx);
    let ended = RequestFinished {
        query,
        user: ctx.authenticated_user.as_deref().unwrap_or(""),
        referer: headers::bytes(&request.headers, &http::header::REFERER),
        user_agent: headers::bytes(&request.headers, &http::header::USER_AGENT),
        ray: &ctx.ray,
        trace: ctx.trace.map(|trace| trace.trace_id()),
        client,
        method: request.method.as_str(),
        host: &ctx.host,
        path,
        protocol: headers::protocol(request.version),
        status,
        origin_status: ctx.origin_status,
        cache_status: ctx.cache_status.map(CacheStatus::word),
        bytes: session.body_bytes_sent(),
        zone: ctx.zone_label().name,
        verdict: ctx.verdict_word(),
        duration_ms: milliseconds(duration),
        // What we refuse has its reason in words; what failed below us has it here.
        error: error.filter(|error| !matches!(error.etype(), ErrorType::HTTPStatus(_))).map(|error| {
            let context = error.context.as_ref().map_or("", |context| context.as_str());
            let cause = error.cause.as_ref().map_or_else(String::new, |cause| format!(": {cause}"));
            format!("{}: {}: {context}{cause}", error.esource().as_str(), error.etype().as_str())
        }),
        snapshot: ctx.snapshot.revision,
        rules: changing_rules(ctx),
    };
    edge.end_trace(session, &ended, ctx);
    edge.events.emit(&ended);
}

fn changing_rules(ctx: &Context) -> Vec<ChangingRule<'_>> {
    let rules = ctx.decisions.acted.iter().map(|ActedRule { source, phase, action }| ChangingRule {
        phase: phase.word(),
        action: action.word(),
        ruleset: &source.ruleset,
        rule: &source.reference,
        description: &source.description,
    });
    rules.collect()
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
    let findings = ctx.held_back.as_ref().map_or_else(Vec::new, |found| found.findings.clone());
    let end = End { status, error, duration, findings };
    let collected = edge.collected_span(&call, duration, ctx).map(Box::new);
    let collected = collected.map(|span| (span, Arc::clone(&call.gateway.collectors)));
    let mut finished = call.finish(end, prices, &ctx.ray, created_at);
    finished.collected = collected;
    finished.span = edge.call_span(duration, ctx).map(Box::new);
    edge.recorder.finish(finished);
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
    for (ToldRule { source, phase, action, .. }, values) in
        ctx.decisions.told.iter().zip(told_values(edge, session, ctx))
    {
        edge.events.emit(&SecurityEvent {
            values: values.into_iter().map(|told| (told.name, told.value)).collect(),
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
        rule: ManagedRuleset::rule_id(m.rule).to_string(),
        reference: m.rule.to_string(),
        description: m.message.clone(),
        score: m.score,
        variable: shortened(m.variable()),
    });
    edge.events.emit(&SecurityEvent {
        action: ctx.verdict.outcome.action().map_or("", Action::word),
        source: Phase::HttpRequestFirewallManaged.source().0,
        ruleset_id: rule.ruleset.as_str(),
        rule_id: rule.id.as_str(),
        reference: &rule.reference,
        description: acted.map_or_else(String::new, |m| m.message.clone()),
        score: ctx.verdict.score.all,
        contributions: contributions.collect(),
        ..of_request(session, client, status, ctx)
    });
}

/// The name of a variable, which a client may have made as long as a body.
fn shortened(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME_CHARACTERS) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or("")),
        None => name.to_owned(),
    }
}

/// What the expression of each rule that is told saw.
fn told_values(edge: &Edge, session: &Session, ctx: &Context) -> Vec<Vec<ToldValue>> {
    let told = &ctx.decisions.told;
    if told.is_empty() {
        return Vec::new();
    }
    with_facts(session.req_header(), session.response_written(), edge.clock.unix(), ctx, |facts| {
        told.iter().map(|rule| rule.expression.values(facts)).collect()
    })
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
        values: BTreeMap::new(),
        contributions: Vec::new(),
    }
}
