//! Rate limits: rate limiting rules that count by the address of the client.

use std::sync::Arc;

use model::rate_limit::RateLimit;
use model::ruleset::{ActionParameters, BlockParameters, BlockResponse, Rule};
use model::{Action, Phase};
use parking_lot::Mutex;
use serde::Serialize;

use super::shapes;
use super::url_pattern::{condition, pattern, quoted, unquoted};
use super::zone_rules::{edit, rules, unknown, with_new_id, with_rules_left_out};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Operation, PAGE, PER_PAGE, QueryParameter, ResultKind, Running,
    Verb,
};
use crate::api::resources::accounts::Deleted;
use crate::api::resources::{rule_input, shapes as common};

const PHASE: Phase = Phase::HttpRatelimit;
const ALL: &str = "/zones/{zone_id}/rate_limits";
const ONE: &str = "/zones/{zone_id}/rate_limits/{rate_limit_id}";
/// By what was counted.
const BY_ADDRESS: &str = "ip.src";
/// What a ban answered.
const BANNED: u16 = 429;

const fn operation(
    verb: Verb,
    path: &'static str,
    summary: &'static str,
    output: ResultKind,
    run: fn(ApiCall) -> Running,
) -> Operation {
    let (permission, input) = match verb {
        Verb::Get => (Permission::WafRead, None),
        Verb::Delete => (Permission::WafWrite, None),
        _ => (Permission::WafWrite, Some(InputShape::Object(shapes::RATE_LIMIT))),
    };
    let query: &[QueryParameter] = match (verb, output) {
        (Verb::Get, ResultKind::List(_)) => &[PAGE, PER_PAGE],
        (Verb::Get, _) => &[],
        _ => &[DRY_RUN],
    };
    Operation { verb, path, summary, permission, query, input, output, run }
}

const OF_ONE: ResultKind = ResultKind::One(shapes::RATE_LIMIT);

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    operation(Verb::Get, ALL, "Lists rate limits.", ResultKind::List(shapes::RATE_LIMIT), |call| {
        Box::pin(list(call))
    }),
    operation(Verb::Post, ALL, "Makes a rate limit.", OF_ONE, |call| Box::pin(create(call))),
    operation(Verb::Get, ONE, "Shows a rate limit.", OF_ONE, |call| Box::pin(find(call))),
    operation(Verb::Put, ONE, "Replaces a rate limit.", OF_ONE, |call| Box::pin(replace(call))),
    operation(Verb::Delete, ONE, "Deletes a rate limit.", ResultKind::One(common::DELETED), |call| {
        Box::pin(delete(call))
    }),
];

/// A rate limit in its old form.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct OldRateLimit {
    id: String,
    disabled: bool,
    description: String,
    r#match: OldMatch,
    bypass: Vec<OldBypass>,
    threshold: u64,
    period: u64,
    action: OldAction,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct OldMatch {
    request: OldRequest,
    response: OldResponse,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct OldRequest {
    methods: Vec<String>,
    schemes: Vec<String>,
    url: String,
}

impl Default for OldRequest {
    fn default() -> Self {
        let all = || vec![EVERY.to_owned()];
        Self { methods: all(), schemes: all(), url: "*".to_owned() }
    }
}

/// Every method, or scheme.
const EVERY: &str = "_ALL_";

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct OldResponse {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    status: Vec<u16>,
    origin_traffic: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct OldBypass {
    name: &'static str,
    value: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct OldAction {
    mode: &'static str,
    timeout: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<OldActionResponse>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct OldActionResponse {
    content_type: String,
    body: String,
}

/// Modes, and the actions that took their place.
const MODES: [(&str, Action); 5] = [
    ("simulate", Action::Log),
    ("ban", Action::Block),
    ("challenge", Action::Challenge),
    ("js_challenge", Action::JsChallenge),
    ("managed_challenge", Action::ManagedChallenge),
];

/// The expression of what requests a rate limit was for.
fn expression(request: &OldRequest, bypass: &[OldBypass]) -> String {
    let mut parts: Vec<String> = condition(&request.url).into_iter().collect();
    if !request.methods.iter().any(|method| method == EVERY) {
        let methods: Vec<String> = request.methods.iter().map(|method| quoted(method)).collect();
        parts.push(format!("http.request.method in {{{}}}", methods.join(" ")));
    }
    match request.schemes.as_slice() {
        [one] if one == "HTTPS" => parts.push("ssl".to_owned()),
        [one] if one == "HTTP" => parts.push("not ssl".to_owned()),
        _ => {}
    }
    parts.extend(bypass.iter().map(|bypass| match condition(&bypass.value) {
        Some(condition) => format!("not {condition}"),
        None => "false".to_owned(),
    }));
    if parts.is_empty() { "true".to_owned() } else { parts.join(" and ") }
}

/// What `expression` was written from.
fn parsed(text: &str) -> Option<(OldRequest, Vec<OldBypass>)> {
    let (mut request, mut bypass) = (OldRequest::default(), Vec::new());
    for part in parts(text)? {
        if part == "true" {
        } else if part == "ssl" {
            request.schemes = vec!["HTTPS".to_owned()];
        } else if part == "not ssl" {
            request.schemes = vec!["HTTP".to_owned()];
        } else if let Some(methods) = part.strip_prefix("http.request.method in {") {
            let mut rest = methods.strip_suffix('}')?;
            request.methods.clear();
            while !rest.is_empty() {
                let (method, behind) = unquoted(rest)?;
                request.methods.push(method);
                rest = behind.strip_prefix(' ').unwrap_or(behind);
            }
        } else if let Some(condition) = part.strip_prefix("not ") {
            bypass.push(OldBypass { name: "url", value: pattern(condition)? });
        } else {
            request.url = pattern(part)?;
        }
    }
    // What it would be written as decides: another expression may only look alike.
    (expression(&request, &bypass) == text).then_some((request, bypass))
}

/// The conditions that `and` joins outside of brackets and quotes.
fn parts(text: &str) -> Option<Vec<&str>> {
    let (mut found, mut start, mut depth, mut at) = (Vec::new(), 0, 0_usize, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with('"') {
            at = text.len() - unquoted(rest)?.1.len();
            continue;
        }
        match rest.chars().next()? {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 && rest.starts_with(" and ") {
            found.push(text.get(start..at)?);
            start = at + " and ".len();
            at = start;
        } else {
            at += rest.chars().next()?.len_utf8();
        }
    }
    found.push(text.get(start..)?);
    Some(found)
}

/// Which requests count, if their responses decide.
fn counting(status: &[u16]) -> String {
    if status.is_empty() {
        return String::new();
    }
    let codes: Vec<String> = status.iter().map(ToString::to_string).collect();
    format!("http.response.code in {{{}}}", codes.join(" "))
}

fn parsed_counting(text: &str) -> Option<Vec<u16>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let codes = text.strip_prefix("http.response.code in {")?.strip_suffix('}')?;
    let status: Option<Vec<u16>> = codes.split(' ').map(|code| code.parse().ok()).collect();
    status.filter(|status| counting(status) == text)
}

/// The old form of a rule; `None` if it has none.
fn old(rule: &Rule) -> Option<OldRateLimit> {
    let limit = rule.ratelimit.as_ref()?;
    let (request, bypass) = parsed(&rule.expression)?;
    let status = parsed_counting(&limit.counting_expression)?;
    let (mode, _) = MODES.into_iter().find(|(_, action)| *action == rule.action)?;
    let response = match &rule.action_parameters {
        None => None,
        Some(ActionParameters::Block(BlockParameters { response })) if response.status_code == BANNED => {
            let BlockResponse { content, content_type, .. } = response.clone();
            Some(OldActionResponse { content_type, body: content })
        }
        Some(_) => return None,
    };
    (limit.characteristics == [BY_ADDRESS] && limit.score_per_period.is_none()).then_some(())?;
    Some(OldRateLimit {
        id: rule.id.clone(),
        disabled: !rule.enabled,
        description: rule.description.clone(),
        r#match: OldMatch {
            request,
            response: OldResponse { status, origin_traffic: limit.requests_to_origin },
        },
        bypass,
        threshold: limit.requests_per_period?,
        period: limit.period,
        action: OldAction { mode, timeout: limit.mitigation_timeout, response },
    })
}

/// The rule that a rate limit is, in the place of another.
fn rule(old: &OldRateLimit, known: Rule) -> Rule {
    let (_, action) =
        MODES.into_iter().find(|(mode, _)| *mode == old.action.mode).unwrap_or(("", Action::Log));
    let parameters = old.action.response.as_ref().filter(|_| action == Action::Block).map(|response| {
        let OldActionResponse { content_type, body } = response.clone();
        let response = BlockResponse { status_code: BANNED, content: body, content_type };
        ActionParameters::Block(BlockParameters { response })
    });
    Rule {
        action,
        action_parameters: parameters,
        enabled: !old.disabled,
        description: old.description.clone(),
        expression: expression(&old.r#match.request, &old.bypass),
        ratelimit: Some(RateLimit {
            characteristics: vec![BY_ADDRESS.to_owned()],
            period: old.period,
            requests_per_period: Some(old.threshold),
            counting_expression: counting(&old.r#match.response.status),
            mitigation_timeout: old.action.timeout,
            requests_to_origin: old.r#match.response.origin_traffic,
            ..RateLimit::default()
        }),
        ..known
    }
}

/// Reads words of a list, each one of `known`, or any if that is empty.
fn words(fields: &Fields<'_>, name: &'static str, known: &[&str]) -> Vec<String> {
    let mut words = Vec::new();
    for (nth, word) in fields.texts(name).unwrap_or_default().into_iter().enumerate() {
        let word = word.to_ascii_uppercase();
        if known.contains(&word.as_str()) {
            words.push(word);
        } else {
            let message = format!("expected one of `{}`, found `{word:.40}`", known.join("`, `"));
            fields.refuse(error::BAD_RATE_LIMIT, &format!("{name}/{nth}"), message);
        }
    }
    if words.is_empty() || words.iter().any(|word| word == EVERY) { vec![EVERY.to_owned()] } else { words }
}

const METHODS: [&str; 8] = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", EVERY];

fn written_match(fields: &Fields<'_>) -> OldMatch {
    let mut found = OldMatch::default();
    if let Some(request) = fields.object("request") {
        found.request.methods = words(&request, "methods", &METHODS);
        found.request.schemes = words(&request, "schemes", &["HTTP", "HTTPS", EVERY]);
        // Both are all.
        if found.request.schemes.len() > 1 {
            found.request.schemes = vec![EVERY.to_owned()];
        }
        request.text("url").unwrap_or("*").clone_into(&mut found.request.url);
    }
    if let Some(response) = fields.object("response") {
        for (nth, code) in response.list("status").unwrap_or_default().iter().enumerate() {
            match code
                .as_u64()
                .and_then(|code| u16::try_from(code).ok())
                .filter(|code| (100..=999).contains(code))
            {
                Some(code) => found.response.status.push(code),
                None => response.refuse(
                    error::BAD_RATE_LIMIT,
                    &format!("status/{nth}"),
                    "expected a status from 100 to 999",
                ),
            }
        }
        found.response.origin_traffic = response.bool("origin_traffic").unwrap_or(false);
        if response.list("headers").is_some_and(|headers| !headers.is_empty()) {
            let message = "fields of responses are not counted by here; use `counting_expression` of a rate limiting rule";
            response.refuse(error::BAD_RATE_LIMIT, "headers", message);
        }
    }
    found
}

fn written(fields: &Fields<'_>) -> Option<OldRateLimit> {
    fields.ignore(&["id", "correlate"]);
    let number = |name: &'static str, bounds: std::ops::RangeInclusive<i64>| {
        if fields.value(name).is_none() {
            fields.refuse(error::BAD_RATE_LIMIT, name, format!("`{name}` is required: expected a number"));
        }
        fields.within(name, bounds).and_then(|number| u64::try_from(number).ok())
    };
    let (threshold, period) = (number("threshold", 1..=1_000_000), number("period", 1..=86_400));
    let r#match = fields.object("match").map(|fields| written_match(&fields)).unwrap_or_default();
    let bypass = fields.objects("bypass").unwrap_or_default();
    let bypass = bypass.iter().filter_map(|fields| {
        if fields.text("name").is_some_and(|name| name != "url") {
            fields.refuse(error::BAD_RATE_LIMIT, "name", "expected `url`");
        }
        Some(OldBypass { name: "url", value: fields.required_text("value")?.to_owned() })
    });
    let bypass = bypass.collect();
    let action = fields.object("action");
    if action.is_none() && fields.value("action").is_none() {
        fields.refuse(error::BAD_RATE_LIMIT, "action", "`action` is required: `mode` and `timeout`");
    }
    let action = action?;
    let word = action.required_text("mode")?;
    let mode = MODES.into_iter().find(|(mode, _)| *mode == word).map(|(mode, _)| mode);
    if mode.is_none() {
        let known: Vec<&str> = MODES.iter().map(|(mode, _)| *mode).collect();
        let message = format!("expected one of `{}`, found `{word:.40}`", known.join("`, `"));
        action.refuse(error::BAD_RATE_LIMIT, "mode", message);
    }
    let timeout = action.within("timeout", 0..=86_400).and_then(|seconds| u64::try_from(seconds).ok());
    let response = action.object("response").and_then(|response| {
        Some(OldActionResponse {
            content_type: response.required_text("content_type")?.to_owned(),
            body: response.required_text("body")?.to_owned(),
        })
    });
    Some(OldRateLimit {
        id: String::new(),
        disabled: fields.bool("disabled").unwrap_or(false),
        description: fields.text("description").unwrap_or("").to_owned(),
        r#match,
        bypass,
        threshold: threshold?,
        period: period?,
        action: OldAction { mode: mode?, timeout: timeout.unwrap_or(0), response },
    })
}

/// A rule that has an old form.
fn find_rule(rules: &[Rule], id: &str) -> Result<OldRateLimit, ApiErrors> {
    let found = rules.iter().find(|rule| rule.id == id).and_then(old);
    found.ok_or_else(|| unknown("rate limit", id))
}

async fn list(call: ApiCall) -> Answer {
    let rules = rules(&call, PHASE)?;
    let all: Vec<OldRateLimit> = rules.iter().filter_map(old).collect();
    let left_out = rules.len() - all.len();
    let (all, info) = call.paging(20, 1_000)?.of(all);
    Ok(with_rules_left_out(ApiReply::page(&all, info)?, left_out))
}

async fn find(call: ApiCall) -> Answer {
    ApiReply::of(&find_rule(&rules(&call, PHASE)?, call.parameter("rate_limit_id"))?)
}

async fn create(call: ApiCall) -> Answer {
    let (new, passed) = rule_input::read(&call.body, written)?;
    let made = Arc::new(Mutex::new(String::new()));
    let told = Arc::clone(&made);
    let rules = edit(&call, PHASE, move |rules| {
        let added = rule(&new, with_new_id(Rule::new(Action::Log))?);
        told.lock().clone_from(&added.id);
        rules.push(added);
        Ok(())
    })
    .await?;
    let id = made.lock().clone();
    Ok(ApiReply::of(&find_rule(&rules, &id)?)?.passing_over(passed))
}

async fn replace(call: ApiCall) -> Answer {
    let (new, passed) = rule_input::read(&call.body, written)?;
    let id = call.parameter("rate_limit_id").to_owned();
    let of = id.clone();
    let rules = edit(&call, PHASE, move |rules| {
        find_rule(rules, &of)?;
        for known in rules.iter_mut().filter(|known| known.id == of) {
            *known = rule(&new, known.clone());
        }
        Ok(())
    })
    .await?;
    Ok(ApiReply::of(&find_rule(&rules, &id)?)?.passing_over(passed))
}

async fn delete(call: ApiCall) -> Answer {
    let id = call.parameter("rate_limit_id").to_owned();
    let of = id.clone();
    edit(&call, PHASE, move |rules| {
        find_rule(rules, &of)?;
        rules.retain(|rule| rule.id != of);
        Ok(())
    })
    .await?;
    ApiReply::of(&Deleted { id: &id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_forms_are_read_back_and_other_rules_have_none() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let requests = [
            OldRequest::default(),
            OldRequest { url: "example.com/log in*".to_owned(), ..OldRequest::default() },
            OldRequest { methods: texts(&["GET", "POST"]), ..OldRequest::default() },
            OldRequest { schemes: texts(&["HTTPS"]), url: "*/a and b".to_owned(), ..OldRequest::default() },
            OldRequest { schemes: texts(&["HTTP"]), ..OldRequest::default() },
        ];
        let bypasses = [vec![], vec!["example.com/a"], vec!["*/b\"and \"c", "example.com"]];
        let mut count = 0;
        for request in &requests {
            for bypass in &bypasses {
                let bypass: Vec<OldBypass> = bypass
                    .iter()
                    .map(|value| OldBypass { name: "url", value: (*value).to_owned() })
                    .collect();
                for (mode, _) in MODES {
                    for status in [vec![], vec![401, 403]] {
                        let written = OldRateLimit {
                            id: "r".to_owned(),
                            disabled: count % 2 == 0,
                            description: "d".to_owned(),
                            r#match: OldMatch {
                                request: request.clone(),
                                response: OldResponse { status, origin_traffic: count % 3 == 0 },
                            },
                            bypass: bypass.clone(),
                            threshold: 5,
                            period: 60,
                            action: OldAction { mode, timeout: 10, response: None },
                        };
                        let known = Rule { id: "r".to_owned(), ..Rule::new(Action::Log) };
                        assert_eq!(old(&rule(&written, known)).unwrap(), written);
                        count += 1;
                    }
                }
            }
        }
        assert_eq!(count, 150);
        for other in
            ["http.host eq \"a\"", "ssl or not ssl", "(ssl)", "ssl and ssl", "not (not ssl)", "\"", "a)"]
        {
            assert!(parsed(other).is_none(), "{other}");
        }
    }
}
