//! Rules as requests write them, matched with the rules that a ruleset has.

use std::ops::RangeInclusive;

use serde::Deserialize as _;
use serde_json::Value;

use super::super::error::{self, ApiErrors};
use super::super::input::{Fields, Findings};
use super::super::operation::new_id;
use model::cache_key::CacheKeyParameters;
use model::cache_settings::{BrowserTtl, CacheParameters, EdgeTtl, StatusRange, StatusTtl};
use model::compression::{CompressionAlgorithm, CompressionParameters};
use model::rate_limit::RateLimit;
use model::rewrite::{
    HeaderEdit, RedirectParameters, RedirectTarget, Replacement, RewriteParameters, UriReplacement,
};
use model::route::{RouteOrigin, RouteParameters, RouteSni};
use model::ruleset::{
    ActionParameters, BlockParameters, BlockResponse, CategoryOverride, ErrorPage, ExecuteParameters,
    Overrides, Rule, RuleLogging, RuleOverride, ScoreParameters, SkipParameters,
};
use model::{Action, Phase, TrafficSettings};

/// Most rules of a ruleset.
pub(super) const MAX_RULES: usize = 1_000;

/// Reads one rule; `None` if it has errors, which are then found.
pub(super) fn rule(fields: &Fields<'_>) -> Option<Rule> {
    fields.ignore(&["version", "last_updated", "categories", "position", "score_threshold"]);
    let action = if fields.value("action").is_some() {
        fields.word("action", error::BAD_ACTION)
    } else {
        fields.refuse(error::BAD_ACTION, "action", "`action` is required, such as `execute`");
        None
    };
    let expression = match fields.text("expression") {
        Some(text) if !text.trim().is_empty() => Some(text.to_owned()),
        None if fields.value("expression").is_some() => None,
        _ => {
            let message = "'' is not a valid value for expression because the expression cannot be blank; \
                           `true` matches every request";
            fields.refuse(error::BAD_EXPRESSION, "expression", message);
            None
        }
    };
    let parameters = fields.object("action_parameters");
    let action_parameters = parameters.and_then(|fields| action_parameters(action, &fields));
    let logging = fields.object("logging").and_then(|fields| fields.bool("enabled"));
    Some(Rule {
        id: fields.text("id").unwrap_or("").to_owned(),
        action_parameters,
        expression: expression?,
        description: fields.text("description").unwrap_or("").to_owned(),
        r#ref: fields.text("ref").unwrap_or("").to_owned(),
        enabled: fields.bool("enabled").unwrap_or(true),
        ratelimit: fields.object("ratelimit").map(|fields| rate_limit(&fields)),
        logging: logging.map(|enabled| RuleLogging { enabled }),
        ..Rule::new(action?)
    })
}

/// The parameters of an action; `None` if there are none. Of an action that is not understood they are read by their fields.
fn action_parameters(action: Option<Action>, fields: &Fields<'_>) -> Option<ActionParameters> {
    let by_fields =
        || if fields.has("overrides") || fields.has("id") { Action::Execute } else { Action::Skip };
    Some(match action.unwrap_or_else(by_fields) {
        Action::Execute => ActionParameters::Execute(ExecuteParameters {
            id: fields.required_text("id").unwrap_or("").to_owned(),
            version: fields.text("version").unwrap_or("latest").to_owned(),
            overrides: fields.object("overrides").map(|fields| overrides(&fields)),
        }),
        Action::Block => {
            let response = fields.object("response")?;
            let content = response.required_text("content").unwrap_or("").to_owned();
            let content_type = response.required_text("content_type").unwrap_or("").to_owned();
            let status_code =
                response.within("status_code", 400..=499).and_then(|code| u16::try_from(code).ok());
            if status_code.is_none() && response.value("status_code").is_none() {
                response.refuse(
                    error::BAD_FIELD,
                    "status_code",
                    "`status_code` is required: expected 400 to 499",
                );
            }
            let response = BlockResponse { status_code: status_code.unwrap_or(403), content, content_type };
            ActionParameters::Block(BlockParameters { response })
        }
        Action::Redirect => ActionParameters::Redirect(RedirectParameters {
            from_value: redirect_target(&fields.object("from_value")?)?,
        }),
        Action::Rewrite => ActionParameters::Rewrite(rewrite_parameters(fields)),
        Action::Route => ActionParameters::Route(route_parameters(fields)),
        Action::ServeError => ActionParameters::ServeError(ErrorPage {
            content: fields.required_text("content").unwrap_or("").to_owned(),
            content_type: fields.required_text("content_type").unwrap_or("").to_owned(),
            status_code: fields.within("status_code", 400..=999).and_then(|code| u16::try_from(code).ok()),
        }),
        Action::SetConfig => ActionParameters::SetConfig(traffic_settings(fields)),
        Action::SetCacheSettings => ActionParameters::SetCacheSettings(cache_parameters(fields)),
        Action::CompressResponse => ActionParameters::CompressResponse(CompressionParameters {
            algorithms: fields
                .objects("algorithms")
                .unwrap_or_default()
                .iter()
                .filter_map(|fields| {
                    fields.required_text("name")?;
                    Some(CompressionAlgorithm { name: fields.word("name", error::BAD_FIELD)? })
                })
                .collect(),
        }),
        Action::Score => ActionParameters::Score(ScoreParameters {
            increment: fields.within("increment", 1..=100).unwrap_or_default(),
        }),
        _ => ActionParameters::Skip(skip_parameters(fields)),
    })
}

fn cache_parameters(fields: &Fields<'_>) -> CacheParameters {
    let seconds = i64::from(*EdgeTtl::SECONDS.start())..=i64::from(*EdgeTtl::SECONDS.end());
    let edge_ttl = fields.object("edge_ttl").and_then(|ttl| {
        ttl.required_text("mode")?;
        let default = ttl.within("default", seconds.clone()).and_then(|seconds| u32::try_from(seconds).ok());
        let by_status = ttl.objects("status_code_ttl").unwrap_or_default();
        let status_code_ttl = by_status.iter().filter_map(status_ttl).collect();
        Some(EdgeTtl { mode: ttl.word("mode", error::BAD_FIELD)?, default, status_code_ttl })
    });
    let browser_ttl = fields.object("browser_ttl").and_then(|ttl| {
        ttl.required_text("mode")?;
        let default = ttl.within("default", seconds.clone()).and_then(|seconds| u32::try_from(seconds).ok());
        Some(BrowserTtl { mode: ttl.word("mode", error::BAD_FIELD)?, default })
    });
    // What is passed over of it would give some what is for others.
    let cache_key = fields.value("cache_key").and_then(|value| {
        let read = CacheKeyParameters::deserialize(value);
        read.map_err(|fault| fields.refuse(error::BAD_FIELD, "cache_key", format!("`cache_key`: {fault}")))
            .ok()
    });
    CacheParameters { cache: fields.bool("cache"), edge_ttl, browser_ttl, cache_key }
}

fn status_ttl(fields: &Fields<'_>) -> Option<StatusTtl> {
    let statuses = i64::from(*StatusTtl::STATUSES.start())..=i64::from(*StatusTtl::STATUSES.end());
    let status = |fields: &Fields<'_>, name: &'static str| {
        fields.within(name, statuses.clone()).and_then(|status| u16::try_from(status).ok())
    };
    let range = fields.object("status_code_range");
    let range = range.map(|range| StatusRange { from: status(&range, "from"), to: status(&range, "to") });
    if fields.value("value").is_none() {
        fields.refuse(error::BAD_FIELD, "value", "`value` is required: expected seconds, or -1");
    }
    let value = fields.within("value", -1..=i64::from(*EdgeTtl::SECONDS.end()))?;
    Some(StatusTtl {
        status_code: status(fields, "status_code"),
        status_code_range: range,
        value: i32::try_from(value).ok()?,
    })
}

fn route_parameters(fields: &Fields<'_>) -> RouteParameters {
    let origin = fields.object("origin").map(|origin| RouteOrigin {
        host: origin.text("host").map(str::to_owned),
        port: origin.within("port", 1..=65_535).and_then(|port| u16::try_from(port).ok()),
    });
    let sni = fields
        .object("sni")
        .map(|sni| RouteSni { value: sni.required_text("value").unwrap_or("").to_owned() });
    RouteParameters { host_header: fields.text("host_header").map(str::to_owned), origin, sni }
}

fn traffic_settings(fields: &Fields<'_>) -> TrafficSettings {
    let within = |name, range: RangeInclusive<u32>| {
        let (start, end) = range.into_inner();
        fields.within(name, start.into()..=end.into()).and_then(|value| u32::try_from(value).ok())
    };
    TrafficSettings {
        security_level: fields.word("security_level", error::BAD_FIELD),
        ssl: fields.word("ssl", error::BAD_FIELD),
        websockets: fields.bool("websockets"),
        max_upload: within("max_upload", TrafficSettings::MEGABYTES),
        proxy_read_timeout: within("proxy_read_timeout", TrafficSettings::SECONDS),
        ip_geolocation: fields.bool("ip_geolocation"),
        true_client_ip_header: fields.bool("true_client_ip_header"),
    }
}

fn rate_limit(fields: &Fields<'_>) -> RateLimit {
    let count = |name| fields.within(name, 0..=i64::MAX).and_then(|count| u64::try_from(count).ok());
    RateLimit {
        characteristics: fields.texts("characteristics").unwrap_or_default(),
        period: count("period").unwrap_or(0),
        requests_per_period: count("requests_per_period"),
        counting_expression: fields.text("counting_expression").unwrap_or("").to_owned(),
        mitigation_timeout: count("mitigation_timeout").unwrap_or(0),
        requests_to_origin: fields.bool("requests_to_origin").unwrap_or(false),
        score_per_period: count("score_per_period"),
        score_response_header_name: fields.text("score_response_header_name").unwrap_or("").to_owned(),
    }
}

/// A text in `value`, or an expression that gives one.
fn replacement(fields: &Fields<'_>) -> Option<Replacement> {
    match (fields.text("value"), fields.text("expression")) {
        (Some(value), None) => Some(Replacement::Value(value.to_owned())),
        (None, Some(expression)) => Some(Replacement::Expression(expression.to_owned())),
        _ => {
            let message = "expected one of `value` and `expression`, a string";
            fields.refuse(error::BAD_FIELD, "value", message);
            None
        }
    }
}

fn redirect_target(fields: &Fields<'_>) -> Option<RedirectTarget> {
    if fields.value("target_url").is_none() {
        fields.refuse(error::BAD_FIELD, "target_url", "`target_url` is required: expected an object");
    }
    let status_code = fields.within("status_code", 301..=308).unwrap_or(301);
    Some(RedirectTarget {
        preserve_query_string: fields.bool("preserve_query_string").unwrap_or(false),
        target_url: replacement(&fields.object("target_url")?)?,
        status_code: u16::try_from(status_code).unwrap_or(301),
    })
}

fn rewrite_parameters(fields: &Fields<'_>) -> RewriteParameters {
    let uri = fields.object("uri").map(|fields| UriReplacement {
        path: fields.object("path").and_then(|fields| replacement(&fields)),
        query: fields.object("query").and_then(|fields| replacement(&fields)),
    });
    let headers = fields.named_objects("headers").into_iter().flatten().filter_map(|(name, fields)| {
        let operation = fields.word("operation", error::BAD_FIELD);
        if fields.value("operation").is_none() {
            fields.refuse(error::BAD_FIELD, "operation", "`operation` is required: `set`, `add` or `remove`");
        }
        let text = |name| fields.text(name).map(str::to_owned);
        let (value, expression) = (text("value"), text("expression"));
        Some((name, HeaderEdit { operation: operation?, value, expression }))
    });
    RewriteParameters { uri, headers: headers.collect() }
}

fn skip_parameters(fields: &Fields<'_>) -> SkipParameters {
    let phases =
        fields.texts("phases").unwrap_or_default().into_iter().enumerate().filter_map(|(nth, word)| {
            let phase = Phase::parse(&word);
            if phase.is_none() {
                let known = Phase::ALL.map(Phase::word).join("`, `");
                let message = format!("unknown phase `{word}`; expected one of `{known}`");
                fields.refuse(error::BAD_PHASE, &format!("phases/{nth}"), message);
            }
            phase
        });
    let phases = phases.collect();
    SkipParameters {
        ruleset: fields.text("ruleset").map(str::to_owned),
        rulesets: fields.texts("rulesets").unwrap_or_default(),
        rules: fields.text_lists("rules").unwrap_or_default(),
        phases,
    }
}

fn overrides(fields: &Fields<'_>) -> Overrides {
    let categories = fields.objects("categories").unwrap_or_default();
    let rules = fields.objects("rules").unwrap_or_default();
    Overrides {
        enabled: fields.bool("enabled"),
        action: fields.word("action", error::BAD_ACTION),
        categories: categories
            .iter()
            .map(|fields| CategoryOverride {
                category: fields.required_text("category").unwrap_or("").to_owned(),
                enabled: fields.bool("enabled"),
                action: fields.word("action", error::BAD_ACTION),
            })
            .collect(),
        rules: rules
            .iter()
            .map(|fields| RuleOverride {
                id: fields.required_text("id").unwrap_or("").to_owned(),
                enabled: fields.bool("enabled"),
                action: fields.word("action", error::BAD_ACTION),
                score_threshold: fields.whole("score_threshold"),
            })
            .collect(),
    }
}

/// The rules of a body, in order.
pub(super) fn rules(fields: &Fields<'_>) -> Vec<Rule> {
    let rules = fields.objects("rules").unwrap_or_default();
    if rules.len() > MAX_RULES {
        let message = format!("a ruleset has at most {MAX_RULES} rules, found {}", rules.len());
        fields.refuse(error::TOO_MANY_RULES, "rules", message);
    }
    rules.iter().filter_map(rule).collect()
}

/// Reads a body with a function, with every error in it.
///
/// # Errors
/// All that were found.
pub(super) fn read<T>(
    body: &Value,
    read: impl FnOnce(&Fields<'_>) -> Option<T>,
) -> Result<(T, Vec<String>), ApiErrors> {
    let findings = Findings::default();
    let value = Fields::root(body, &findings).and_then(|fields| read(&fields));
    let (value, unknown) = findings.into_result(value)?;
    let missing = || error::ApiError::new(error::BAD_BODY, "the body cannot be read");
    Ok((value.ok_or_else(missing)?, unknown))
}

/// Gives new rules their ids and versions: a rule with the id or `ref` of one that is there, or else with the same
/// definition, is that rule.
///
/// # Errors
/// If the system has no random numbers.
pub(super) fn matched(new: Vec<Rule>, known: &[Rule], now: &str) -> Result<Vec<Rule>, ApiErrors> {
    let mut free: Vec<&Rule> = known.iter().collect();
    let mut take = |is_it: &dyn Fn(&Rule) -> bool| {
        free.iter().position(|rule| is_it(rule)).map(|place| free.remove(place))
    };
    // Those that are named come first, or an equal one could take their place.
    let named: Vec<Option<&Rule>> = new
        .iter()
        .map(|rule| {
            let by_id = (!rule.id.is_empty()).then(|| take(&|known| known.id == rule.id)).flatten();
            by_id.or_else(|| {
                (!rule.r#ref.is_empty()).then(|| take(&|known| known.r#ref == rule.r#ref)).flatten()
            })
        })
        .collect();
    let mut matched = Vec::with_capacity(new.len());
    for (rule, named) in new.into_iter().zip(named) {
        let found = named.or_else(|| take(&|known| has_same_definition(known, &rule)));
        matched.push(successor(rule, found, now)?);
    }
    Ok(matched)
}

/// A rule in the place of another, or a new one.
///
/// # Errors
/// If the system has no random numbers.
pub(super) fn successor(rule: Rule, known: Option<&Rule>, now: &str) -> Result<Rule, ApiErrors> {
    let Some(known) = known else {
        let id = new_id()?;
        let r#ref = if rule.r#ref.is_empty() { id.clone() } else { rule.r#ref.clone() };
        return Ok(Rule { id, r#ref, last_updated: now.to_owned(), ..rule });
    };
    let r#ref = if rule.r#ref.is_empty() { known.r#ref.clone() } else { rule.r#ref.clone() };
    let is_same = has_same_definition(known, &rule) && known.r#ref == r#ref;
    let (version, last_updated) = if is_same {
        (known.version.clone(), known.last_updated.clone())
    } else {
        (next_version(&known.version), now.to_owned())
    };
    Ok(Rule { id: known.id.clone(), r#ref, version, last_updated, ..rule })
}

/// The version behind another.
pub(super) fn next_version(version: &str) -> String {
    version.parse::<u64>().map_or_else(|_| "1".to_owned(), |version| (version + 1).to_string())
}

fn has_same_definition(one: &Rule, other: &Rule) -> bool {
    one.action == other.action
        && one.action_parameters == other.action_parameters
        && one.expression == other.expression
        && one.description == other.description
        && one.enabled == other.enabled
        && one.ratelimit == other.ratelimit
        && one.logging == other.logging
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(id: &str, r#ref: &str, expression: &str) -> Rule {
        Rule {
            id: id.to_owned(),
            r#ref: r#ref.to_owned(),
            expression: expression.to_owned(),
            ..Rule::new(Action::Execute)
        }
    }

    #[test]
    fn rules_keep_their_id_by_id_then_ref_then_definition() {
        let known = [named("1", "a", "x"), named("2", "b", "y"), named("3", "c", "z")];
        let new =
            vec![named("", "", "z"), named("", "b", "changed"), named("1", "", "x"), named("", "new", "n")];
        let matched = matched(new, &known, "now").unwrap();
        let shown: Vec<_> = matched
            .iter()
            .map(|rule| (rule.id.as_str(), rule.r#ref.as_str(), rule.version.as_str()))
            .collect();
        assert_eq!(shown[..3], [("3", "c", "1"), ("2", "b", "2"), ("1", "a", "1")]);
        assert!(matched[3].id.len() == 32 && matched[3].r#ref == "new");
        assert_eq!((matched[1].last_updated.as_str(), matched[2].last_updated.as_str()), ("now", ""));
    }
}
