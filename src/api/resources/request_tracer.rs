//! What rules would do with a described request, which is not sent.

use std::net::{IpAddr, Ipv4Addr};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Uri;
use model::ruleset::{ActionParameters, Rule, Ruleset};
use model::{Action, Phase, RulesetOwner};
use seclang::{BodyLimits, RequestHead};
use serde::Serialize;
use serde_json::Value;

use super::{rule_input, shapes};
use crate::admission;
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError};
use crate::api::input::Fields;
use crate::api::operation::{Answer, ApiCall, InputShape, Operation, ResultKind, Verb};
use crate::ruleset::actions::challenge;
use crate::ruleset::{ManagedRuleset, Trace, TraceEnd, TracedRequest, TracedRule};
use crate::snapshot::{CompiledZone, HostRoute, Site};

pub(super) const OPERATIONS: &[Operation] = &[Operation {
    verb: Verb::Post,
    path: "/accounts/{account_id}/request-tracer/trace",
    summary: "Says what each rule would do with a request, phase by phase; nothing is sent or counted.",
    permission: Permission::RulesetsRead,
    query: &[],
    input: Some(InputShape::Object(shapes::TRACED_REQUEST)),
    output: ResultKind::One(shapes::TRACE),
    run: |call| Box::pin(async move { traced(&call) }),
}];

/// A request as a body describes it.
#[derive(Debug)]
struct WrittenRequest {
    method: String,
    protocol: String,
    is_tls: bool,
    host: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    client: IpAddr,
    skips_challenges: bool,
}

#[derive(Debug, Serialize)]
struct ShownTrace {
    /// Of the answer that rules give; null if the request goes to the origin.
    status_code: Option<u16>,
    /// What becomes of it: `send` or an action.
    action: &'static str,
    zone_name: String,
    location: Option<String>,
    /// Path and query that the origin is asked for.
    target: String,
    score: i64,
    trace: Vec<ShownStep>,
}

/// A phase, or a rule in it.
#[derive(Debug, Default, Serialize)]
struct ShownStep {
    r#type: &'static str,
    step_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ruleset_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<Action>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action_parameters: Option<ActionParameters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expression: Option<String>,
    description: String,
    matched: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<i64>,
    trace: Vec<Self>,
}

fn traced(call: &ApiCall) -> Answer {
    let (written, unknown) = rule_input::read(&call.body, written)?;
    let (zone, hostname) = match call.snapshot.route(&written.host) {
        HostRoute::Site { site: Site::Zone(zone), .. } if zone.source.account == call.account() => {
            (zone, None)
        }
        HostRoute::Hostname { hostname, zone } if zone.source.account == call.account() => {
            (zone, Some(&hostname.hostname))
        }
        _ => {
            let message = format!("the account has no zone for `{}`", written.host);
            return Err(ApiError::at(error::BAD_FIELD, "/url", message).into());
        }
    };
    let fields: Vec<(&[u8], &[u8])> =
        written.headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
    let head = RequestHead {
        method: written.method.as_bytes(),
        target: written.target.as_bytes(),
        protocol: &written.protocol,
        headers: &fields,
        client: written.client,
        server: None,
        request_id: "0",
        received: crate::clock::Clock::real().unix(),
    };
    let request = TracedRequest {
        head,
        host: &written.host,
        tls: written.is_tls,
        hostname_metadata: hostname.and_then(|hostname| hostname.metadata.as_deref()),
        body: Bytes::from(written.body),
        skips_challenges: written.skips_challenges,
    };
    let limits = BodyLimits::from(&call.snapshot.limits);
    let trace = zone.entry_points.trace(&request, limits, &*call.snapshot.geo);
    let account = RulesetOwner::Account(call.account());
    let of_account = call.snapshot.resources.rulesets_of(&account).map(|declared| &declared.value);
    let rulesets: Vec<&Ruleset> = zone.rulesets.iter().chain(of_account).collect();
    Ok(ApiReply::of(&shown(zone, &trace, &rulesets))?.passing_over(unknown))
}

fn written(fields: &Fields<'_>) -> Option<WrittenRequest> {
    let bad = |name: &'static str, message: String| {
        fields.refuse(error::BAD_FIELD, name, message);
        None
    };
    let url = fields.required_text("url")?;
    let uri = match url.parse::<Uri>() {
        Ok(uri) if matches!(uri.scheme_str(), Some("http" | "https")) => uri,
        _ => {
            return bad("url", format!("expected a URL such as `https://shop.example/`, found `{url:.200}`"));
        }
    };
    let mut buffer = String::new();
    let named = uri.authority().map_or("", |authority| authority.as_str());
    let host = match admission::host::normal_form(named, &mut buffer) {
        Ok(host) => host.to_owned(),
        Err(_) => return bad("url", format!("the URL names no valid host, found `{named:.200}`")),
    };
    // The path as it is written: what a parser makes of it is for rules to judge.
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let path = rest.find(['/', '?', '#']).and_then(|at| rest.get(at..)).unwrap_or("/");
    let path = path.split('#').next().unwrap_or("/");
    let target = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let mut headers = vec![("host".to_owned(), named.to_owned())];
    headers
        .extend(pairs(fields, "headers").into_iter().filter(|(name, _)| !name.eq_ignore_ascii_case("host")));
    let cookies = pairs(fields, "cookies");
    if !cookies.is_empty() {
        let cookies: Vec<String> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        headers.push(("cookie".to_owned(), cookies.join("; ")));
    }
    let body = fields.object("body").and_then(|body| of_body(&body)).unwrap_or_default();
    let context = fields.object("context");
    let client = context.as_ref().and_then(|context| {
        let text = context.text("client_ip")?;
        let address = text.parse().ok();
        if address.is_none() {
            context.refuse(error::BAD_FIELD, "client_ip", format!("expected an address, found `{text:.60}`"));
        }
        address
    });
    fields.ignore(&["skip_response"]);
    Some(WrittenRequest {
        method: fields.text("method").unwrap_or("GET").to_owned(),
        protocol: fields.text("protocol").unwrap_or("HTTP/1.1").to_owned(),
        is_tls: uri.scheme_str() == Some("https"),
        host,
        target,
        headers,
        body,
        client: client.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        skips_challenges: context.and_then(|context| context.bool("skip_challenge")).unwrap_or(false),
    })
}

/// Names with their texts.
fn pairs(fields: &Fields<'_>, name: &'static str) -> Vec<(String, String)> {
    let Some(value) = fields.value(name) else { return Vec::new() };
    let pair = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    let pairs = value.as_object().and_then(|object| object.iter().map(pair).collect());
    pairs.unwrap_or_else(|| {
        fields.refuse(error::BAD_FIELD, name, format!("`{name}` takes an object of strings"));
        Vec::new()
    })
}

/// A body in one of three forms.
fn of_body(fields: &Fields<'_>) -> Option<Vec<u8>> {
    let text = fields.text("plain_text").map(|text| text.as_bytes().to_vec());
    let json = fields.value("json").map(|json| json.to_string().into_bytes());
    let base64 = fields.text("base64").map(|text| STANDARD.decode(text));
    let base64 = match base64 {
        Some(Err(_)) => {
            fields.refuse(error::BAD_FIELD, "base64", "`base64` takes base64 with `=` at its end".to_owned());
            None
        }
        Some(Ok(bytes)) => Some(bytes),
        None => None,
    };
    text.or(json).or(base64)
}

fn shown(zone: &CompiledZone, trace: &Trace, rulesets: &[&Ruleset]) -> ShownTrace {
    let (status_code, action, location) = match &trace.end {
        TraceEnd::Sent => (None, "send", None),
        TraceEnd::Blocked { status } => (Some(*status), "block", None),
        TraceEnd::Challenged(level) => (Some(403), challenge::action(*level).word(), None),
        TraceEnd::Redirected { status, location } => {
            (Some(if location.is_some() { *status } else { 400 }), "redirect", location.clone())
        }
    };
    let phases = trace.phases.iter().map(|traced| {
        let mut rules: Vec<ShownStep> = traced.rules.iter().map(|rule| of_rule(rule, rulesets)).collect();
        if traced.phase == Phase::HttpRequestFirewallManaged
            && let Some(last) = rules.iter_mut().rfind(|step| step.action == Some(Action::Execute))
        {
            last.trace.extend(of_managed(trace));
        }
        ShownStep {
            r#type: "phase",
            step_name: traced.phase.word().to_owned(),
            matched: rules.iter().any(|rule| rule.matched),
            trace: rules,
            ..ShownStep::default()
        }
    });
    ShownTrace {
        status_code,
        action,
        zone_name: zone.name.clone(),
        location,
        target: String::from_utf8_lossy(&trace.target).into_owned(),
        score: trace.verdict.score.all,
        trace: phases.collect(),
    }
}

fn of_rule(rule: &TracedRule, rulesets: &[&Ruleset]) -> ShownStep {
    let is_it = |known: &&Rule| known.id == rule.source.id;
    let of_ruleset = rulesets.iter().filter(|ruleset| ruleset.id == rule.source.ruleset);
    let known = of_ruleset.flat_map(|ruleset| &ruleset.rules).find(is_it);
    ShownStep {
        r#type: "rule",
        step_name: rule.source.id.clone(),
        ruleset_id: Some(rule.source.ruleset.clone()),
        action: Some(rule.action),
        action_parameters: known.and_then(|known| known.action_parameters.clone()),
        expression: Some(rule.expression.clone()),
        description: rule.source.description.clone(),
        matched: rule.is_matched,
        score: None,
        trace: rule.rules.iter().map(|rule| of_rule(rule, rulesets)).collect(),
    }
}

/// The managed rules that add to the score, and the one that decides.
fn of_managed(trace: &Trace) -> impl Iterator<Item = ShownStep> {
    let decides = |m: &&seclang::Match| trace.verdict.outcome.rule().is_some_and(|rule| rule.is_of(m));
    let matches = trace.verdict.matches.iter().filter(move |m| m.score != 0 || decides(m));
    matches.map(|m| ShownStep {
        r#type: "rule",
        step_name: ManagedRuleset::rule_id(m.rule).to_string(),
        description: m.message.clone(),
        matched: true,
        score: Some(m.score),
        ..ShownStep::default()
    })
}
