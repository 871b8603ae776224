//! `set_cache_settings`: whether responses are kept, and how long they are served again.

use super::{CompiledAction, Definition, Sources};
use diagnostic::{Code, Diagnostic};
use model::cache_settings::{CacheParameters, EdgeTtl, EdgeTtlMode};
use model::ruleset::{ActionParameters, Rule};
use model::{Action, Phase};

pub const DEFINITION: Definition =
    Definition { actions: &[Action::SetCacheSettings], phases: &[Phase::HttpRequestCacheSettings], compile };

fn compile(rule: &Rule, _: Phase, sources: &mut Sources<'_>) -> Option<CompiledAction> {
    let mut refuse = |field: &str, message: String| {
        let diagnostic = Diagnostic::error(Code::RulesetBadParameters, message);
        sources.diagnostics.push(diagnostic.pointing(format!("action_parameters{field}")));
        None
    };
    let parameters = match &rule.action_parameters {
        Some(ActionParameters::SetCacheSettings(parameters)) => *parameters,
        _ => CacheParameters::default(),
    };
    if parameters == CacheParameters::default() {
        let message = "the action `set_cache_settings` needs `cache` or `edge_ttl` in `action_parameters`";
        return refuse("", message.to_owned());
    }
    if let Some(EdgeTtl { mode, default }) = parameters.edge_ttl {
        if default.is_some_and(|seconds| !EdgeTtl::SECONDS.contains(&seconds)) {
            let most = EdgeTtl::SECONDS.end();
            return refuse("/edge_ttl/default", format!("`edge_ttl.default` takes 0 to {most} seconds"));
        }
        if mode == EdgeTtlMode::OverrideOrigin && default.is_none() {
            let message = "the mode `override_origin` needs `edge_ttl.default`, in seconds";
            return refuse("/edge_ttl", message.to_owned());
        }
    }
    Some(CompiledAction::SetCacheSettings(parameters))
}
