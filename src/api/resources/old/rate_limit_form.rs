//! A rate limit in its old form, as a rule, and back.

use model::Action;
use model::rate_limit::RateLimit;
use model::ruleset::{ActionParameters, BlockParameters, BlockResponse, Rule};
use serde::Serialize;

use super::url_pattern::{condition, pattern, quoted, unquoted};

/// By what was counted.
const BY_ADDRESS: &str = "ip.src";
/// What a ban answered.
const BANNED: u16 = 429;

/// A rate limit in its old form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct OldRateLimit {
    pub(super) id: String,
    pub(super) disabled: bool,
    pub(super) description: String,
    pub(super) r#match: OldMatch,
    pub(super) bypass: Vec<OldBypass>,
    pub(super) threshold: u64,
    pub(super) period: u64,
    pub(super) action: OldAction,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct OldMatch {
    pub(super) request: OldRequest,
    pub(super) response: OldResponse,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct OldRequest {
    pub(super) methods: Vec<String>,
    pub(super) schemes: Vec<String>,
    pub(super) url: String,
}

impl Default for OldRequest {
    fn default() -> Self {
        let all = || vec![EVERY.to_owned()];
        Self { methods: all(), schemes: all(), url: "*".to_owned() }
    }
}

/// Every method, or scheme.
pub(super) const EVERY: &str = "_ALL_";

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct OldResponse {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) status: Vec<u16>,
    pub(super) origin_traffic: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct OldBypass {
    pub(super) name: &'static str,
    pub(super) value: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct OldAction {
    pub(super) mode: &'static str,
    pub(super) timeout: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response: Option<OldActionResponse>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct OldActionResponse {
    pub(super) content_type: String,
    pub(super) body: String,
}

/// Modes, and the actions that took their place.
pub(super) const MODES: [(&str, Action); 5] = [
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
pub(super) fn old(rule: &Rule) -> Option<OldRateLimit> {
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
pub(super) fn rule(old: &OldRateLimit, known: Rule) -> Rule {
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
