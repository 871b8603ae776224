//! `block`: refuses a request, with a page of ours or an answer that the rule has.

use std::sync::Arc;

use super::{CompiledAction, Definition, Sources};
use diagnostic::{Code, Diagnostic};
use model::ruleset::{ActionParameters, BlockResponse, Rule};
use model::{Action, Phase};

pub const DEFINITION: Definition = Definition {
    actions: &[Action::Block],
    phases: &[Phase::HttpRequestFirewallCustom, Phase::HttpRatelimit],
    compile,
};

/// Longest content of an answer, in bytes.
pub(super) const MAX_CONTENT_BYTES: usize = 30_000;
/// What an answer can be.
pub(super) const CONTENT_TYPES: [&str; 4] = ["text/html", "text/plain", "text/xml", "application/json"];

fn compile(rule: &Rule, _: Phase, sources: &mut Sources<'_>) -> Option<CompiledAction> {
    let mut refuse = |message: String| {
        sources.diagnostics.push(Diagnostic::error(Code::RulesetBadParameters, message));
        None
    };
    let response = match &rule.action_parameters {
        None => None,
        Some(parameters) if parameters.is_empty() => None,
        Some(ActionParameters::Block(block)) => Some(&block.response),
        Some(_) => return refuse("the action `block` takes `response` alone".to_owned()),
    };
    let Some(response) = response else { return Some(CompiledAction::Block(None)) };
    let BlockResponse { status_code, content, content_type } = response;
    if !(400..500).contains(status_code) {
        return refuse(format!("`response.status_code` takes 400 to 499, found {status_code}"));
    }
    if !CONTENT_TYPES.contains(&content_type.as_str()) {
        let known = CONTENT_TYPES.join("`, `");
        return refuse(format!("`response.content_type` is one of `{known}`, found `{content_type}`"));
    }
    if content.len() > MAX_CONTENT_BYTES {
        let found = content.len();
        return refuse(format!("`response.content` has at most {MAX_CONTENT_BYTES} bytes, found {found}"));
    }
    Some(CompiledAction::Block(Some(Arc::new(response.clone()))))
}
