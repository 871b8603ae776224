//! `set_cache_settings`: whether responses are kept, and how long they are served again, here and by browsers.

use super::{CompiledAction, Definition, Sources};
use diagnostic::{Code, Diagnostic};
use http::{HeaderName, header};
use model::cache_key::{CacheKeyParameters, QueryKey, QueryNames};
use model::cache_settings::{BrowserTtlMode, CacheParameters, EdgeTtl, EdgeTtlMode, StatusRange, StatusTtl};
use model::ruleset::{ActionParameters, Rule};
use model::{Action, Phase};

pub const DEFINITION: Definition =
    Definition { actions: &[Action::SetCacheSettings], phases: &[Phase::HttpRequestCacheSettings], compile };

/// Most names of each list of `cache_key`, and bytes of one.
const MAX_NAMES: usize = 50;
const MAX_NAME_BYTES: usize = 100;
/// Most entries of `status_code_ttl`.
const MAX_STATUSES: usize = 100;

fn compile(rule: &Rule, _: Phase, sources: &mut Sources<'_>) -> Option<CompiledAction> {
    let parameters = match &rule.action_parameters {
        Some(ActionParameters::SetCacheSettings(parameters)) => parameters.clone(),
        _ => CacheParameters::default(),
    };
    match fault(&parameters) {
        None => Some(CompiledAction::SetCacheSettings(parameters)),
        Some((field, message)) => {
            let diagnostic = Diagnostic::error(Code::RulesetBadParameters, message);
            sources.diagnostics.push(diagnostic.pointing(format!("action_parameters{field}")));
            None
        }
    }
}

/// What is wrong with parameters, and where.
fn fault(parameters: &CacheParameters) -> Option<(String, String)> {
    let at = |field: &str, message: String| Some((field.to_owned(), message));
    if *parameters == CacheParameters::default() {
        let message = "the action `set_cache_settings` needs `cache`, `edge_ttl`, `browser_ttl` or `cache_key` in `action_parameters`";
        return at("", message.to_owned());
    }
    let most = EdgeTtl::SECONDS.end();
    let is_long = |default: Option<u32>| default.is_some_and(|seconds| !EdgeTtl::SECONDS.contains(&seconds));
    if let Some(EdgeTtl { mode, default, status_code_ttl }) = &parameters.edge_ttl {
        if is_long(*default) {
            return at("/edge_ttl/default", format!("`edge_ttl.default` takes 0 to {most} seconds"));
        }
        if *mode == EdgeTtlMode::OverrideOrigin && default.is_none() {
            let message = "the mode `override_origin` needs `edge_ttl.default`, in seconds";
            return at("/edge_ttl", message.to_owned());
        }
        if status_code_ttl.len() > MAX_STATUSES {
            return at("/edge_ttl/status_code_ttl", format!("expected at most {MAX_STATUSES} entries"));
        }
        for (nth, ttl) in status_code_ttl.iter().enumerate() {
            if let Some(message) = fault_of_status(ttl) {
                return at(&format!("/edge_ttl/status_code_ttl/{nth}"), message);
            }
        }
    }
    if let Some((field, message)) = parameters.cache_key.as_ref().and_then(fault_of_key) {
        return at(&format!("/cache_key{field}"), message);
    }
    let browser = parameters.browser_ttl?;
    if is_long(browser.default) {
        return at("/browser_ttl/default", format!("`browser_ttl.default` takes 0 to {most} seconds"));
    }
    if browser.mode == BrowserTtlMode::OverrideOrigin && browser.default.is_none() {
        let message = "the mode `override_origin` needs `browser_ttl.default`, in seconds";
        return at("/browser_ttl", message.to_owned());
    }
    None
}

/// What is wrong with what tells responses apart, and where.
fn fault_of_key(key: &CacheKeyParameters) -> Option<(String, String)> {
    let at = |field: &str, message: &str| Some((field.to_owned(), message.to_owned()));
    let custom = key.custom_key.clone().unwrap_or_default();
    if custom.host.and_then(|host| host.resolved) == Some(true) {
        let message = "responses of two hosts are never one here; leave `resolved` out, or set it to `false`";
        return at("/custom_key/host/resolved", message);
    }
    if let Some(QueryKey { include, exclude }) = &custom.query_string {
        if include.is_some() && exclude.is_some() {
            return at("/custom_key/query_string", "expected one of `include` and `exclude`");
        }
        for (names, name) in [(include, "include"), (exclude, "exclude")] {
            let Some(QueryNames { all, list }) = names else { continue };
            let field = format!("/custom_key/query_string/{name}");
            if (*all == Some(true)) != list.is_empty() {
                return at(&field, "expected `all` as `true`, or `list` with names of parameters");
            }
            if let Some(message) = fault_of_names(list, "name of a parameter", |_| true) {
                return at(&format!("{field}/list"), &message);
            }
        }
    }
    let fields = |names: &[String]| {
        let is_field = |name: &str| HeaderName::try_from(name).is_ok_and(|name| name != header::COOKIE);
        fault_of_names(names, "name of a field that is not `Cookie`", is_field)
    };
    let cookies =
        |names: &[String]| fault_of_names(names, "name of a cookie", |name| !name.contains([';', '=', ' ']));
    let (header, cookie) = (custom.header.unwrap_or_default(), custom.cookie.unwrap_or_default());
    let contained: Vec<String> = header.contains.keys().cloned().collect();
    for (field, fault) in [
        ("header/include", fields(&header.include)),
        ("header/check_presence", fields(&header.check_presence)),
        ("header/contains", fields(&contained)),
        ("cookie/include", cookies(&cookie.include)),
        ("cookie/check_presence", cookies(&cookie.check_presence)),
    ] {
        if let Some(message) = fault {
            return at(&format!("/custom_key/{field}"), &message);
        }
    }
    let texts = header.contains.iter().find_map(|(name, texts)| {
        let fault = if texts.is_empty() { Some("expected at least one text".to_owned()) } else { None };
        Some((name, fault.or_else(|| fault_of_names(texts, "text", |_| true))?))
    });
    texts.map(|(name, message)| (format!("/custom_key/header/contains/{name}"), message))
}

fn fault_of_names(names: &[String], what: &str, is_name: impl Fn(&str) -> bool) -> Option<String> {
    if names.len() > MAX_NAMES {
        return Some(format!("expected at most {MAX_NAMES} entries"));
    }
    let is_bad = |name: &&String| name.is_empty() || name.len() > MAX_NAME_BYTES || !is_name(name);
    names.iter().find(is_bad).map(|name| format!("`{name}` is no {what} of 1 to {MAX_NAME_BYTES} bytes"))
}

fn fault_of_status(ttl: &StatusTtl) -> Option<String> {
    let is_status = |status: u16| StatusTtl::STATUSES.contains(&status);
    let is_sound = match (ttl.status_code, ttl.status_code_range) {
        (Some(status), None) => is_status(status),
        (None, Some(StatusRange { from: Some(from), to: Some(to) })) => {
            is_status(from) && is_status(to) && from <= to
        }
        (
            None,
            Some(StatusRange { from: Some(end), to: None } | StatusRange { from: None, to: Some(end) }),
        ) => is_status(end),
        _ => false,
    };
    if !is_sound {
        return Some(
            "expected `status_code`, or `status_code_range` with `from`, `to` or both, from 100 to 999"
                .to_owned(),
        );
    }
    let most = EdgeTtl::SECONDS.end();
    let fits =
        ttl.value == -1 || u32::try_from(ttl.value).is_ok_and(|seconds| EdgeTtl::SECONDS.contains(&seconds));
    (!fits).then(|| format!("`value` takes 0 to {most} seconds, or -1 to keep nothing"))
}
