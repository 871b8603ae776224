//! Rate limits: rate limiting rules that count by the address of the client.

use model::ruleset::Rule;
use model::{Action, Phase};

use super::operation::{PAGES, WRITE, operation};
use super::rate_limit_form::{
    EVERY, MODES, OldAction, OldActionResponse, OldBypass, OldMatch, OldRateLimit, old, rule,
};
use super::shapes;
use super::zone_rules::{edit, rules, unknown, with_new_id, with_rules_left_out};
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::{Answer, ApiCall, InputShape, Operation, ResultKind, Verb};
use crate::api::resources::accounts::Deleted;
use crate::api::resources::{rule_input, shapes as common};

const PHASE: Phase = Phase::HttpRatelimit;
const ALL: &str = "/zones/{zone_id}/rate_limits";
const ONE: &str = "/zones/{zone_id}/rate_limits/{rate_limit_id}";

const OF_ONE: ResultKind = ResultKind::One(shapes::RATE_LIMIT);
const BODY: InputShape = InputShape::Object(shapes::RATE_LIMIT);

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    operation(
        Verb::Get,
        ALL,
        "Lists rate limits.",
        (PAGES, BODY),
        ResultKind::List(shapes::RATE_LIMIT),
        |call| Box::pin(list(call)),
    ),
    operation(Verb::Post, ALL, "Makes a rate limit.", (WRITE, BODY), OF_ONE, |call| Box::pin(create(call))),
    operation(Verb::Get, ONE, "Shows a rate limit.", (&[], BODY), OF_ONE, |call| Box::pin(find(call))),
    operation(Verb::Put, ONE, "Replaces a rate limit.", (WRITE, BODY), OF_ONE, |call| {
        Box::pin(replace(call))
    }),
    operation(
        Verb::Delete,
        ONE,
        "Deletes a rate limit.",
        (WRITE, BODY),
        ResultKind::One(common::DELETED),
        |call| Box::pin(delete(call)),
    ),
];

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
    let added = rule(&new, with_new_id(Rule::new(Action::Log))?);
    let id = added.id.clone();
    let rules = edit(&call, PHASE, move |rules| {
        rules.push(added.clone());
        Ok(())
    })
    .await?;
    Ok(ApiReply::of(&find_rule(&rules, &id)?)?.passing_over(passed))
}

async fn replace(call: ApiCall) -> Answer {
    let (new, passed) = rule_input::read(&call.body, written)?;
    let id = call.parameter("rate_limit_id").to_owned();
    let of = id.clone();
    let rules = edit(&call, PHASE, move |rules| {
        let known = rules.iter_mut().find(|rule| rule.id == of && old(rule).is_some());
        let known = known.ok_or_else(|| unknown("rate limit", &of))?;
        *known = rule(&new, known.clone());
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
