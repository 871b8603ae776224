//! `set_cache_settings`: whether responses are kept, and how long they are served again, here and by browsers.

use super::{CompiledAction, Definition, Sources};
use diagnostic::{Code, Diagnostic};
use model::cache_settings::{BrowserTtlMode, CacheParameters, EdgeTtl, EdgeTtlMode, StatusRange, StatusTtl};
use model::ruleset::{ActionParameters, Rule};
use model::{Action, Phase};

pub const DEFINITION: Definition =
    Definition { actions: &[Action::SetCacheSettings], phases: &[Phase::HttpRequestCacheSettings], compile };

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
        let message = "the action `set_cache_settings` needs `cache`, `edge_ttl` or `browser_ttl` in `action_parameters`";
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
