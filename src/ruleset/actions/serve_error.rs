//! `serve_error`: puts a page in the place of an error, whoever made it.

use std::sync::Arc;

use super::block::{CONTENT_TYPES, MAX_CONTENT_BYTES};
use super::{CompiledAction, Definition, Sources};
use diagnostic::{Code, Diagnostic};
use model::ruleset::{ActionParameters, ErrorPage, Rule};
use model::{Action, Phase};

pub const DEFINITION: Definition =
    Definition { actions: &[Action::ServeError], phases: &[Phase::HttpCustomErrors], compile };

fn compile(rule: &Rule, _: Phase, sources: &mut Sources<'_>) -> Option<CompiledAction> {
    let mut refuse = |field: &str, message: String| {
        let diagnostic = Diagnostic::error(Code::RulesetBadParameters, message);
        sources.diagnostics.push(diagnostic.pointing(format!("action_parameters{field}")));
        None
    };
    let Some(ActionParameters::ServeError(page)) = &rule.action_parameters else {
        let message = "the action `serve_error` needs `action_parameters` with `content` and `content_type`";
        return refuse("", message.to_owned());
    };
    let ErrorPage { content, content_type, status_code } = page;
    if !CONTENT_TYPES.contains(&content_type.as_str()) {
        let known = CONTENT_TYPES.join("`, `");
        return refuse(
            "/content_type",
            format!("`content_type` is one of `{known}`, found `{content_type}`"),
        );
    }
    if content.len() > MAX_CONTENT_BYTES {
        let found = content.len();
        return refuse("/content", format!("`content` has at most {MAX_CONTENT_BYTES} bytes, found {found}"));
    }
    if let Some(status_code) = status_code.filter(|code| !(400..=999).contains(code)) {
        return refuse("/status_code", format!("`status_code` takes 400 to 999, found {status_code}"));
    }
    Some(CompiledAction::ServeError(Arc::new(page.clone())))
}
