//! `set_config`: treats a request in other ways than its zone is set to.

use std::sync::Arc;

use super::{CompiledAction, Definition, Sources};
use diagnostic::{Code, Diagnostic};
use model::ruleset::{ActionParameters, Rule};
use model::{Action, Phase, TrafficSettings};

pub const DEFINITION: Definition =
    Definition { actions: &[Action::SetConfig], phases: &[Phase::HttpConfigSettings], compile };

fn compile(rule: &Rule, _: Phase, sources: &mut Sources<'_>) -> Option<CompiledAction> {
    let mut refuse = |field: &str, message: String| {
        let diagnostic = Diagnostic::error(Code::RulesetBadParameters, message);
        sources.diagnostics.push(diagnostic.pointing(format!("action_parameters{field}")));
    };
    let settings = match &rule.action_parameters {
        Some(ActionParameters::SetConfig(settings)) if *settings != TrafficSettings::default() => settings,
        _ => {
            let message = "the action `set_config` needs a setting in `action_parameters`, such as `security_level` or `max_upload`";
            refuse("", message.to_owned());
            return None;
        }
    };
    let mut is_sound = true;
    for (name, value, range) in [
        ("max_upload", settings.max_upload, TrafficSettings::MEGABYTES),
        ("proxy_read_timeout", settings.proxy_read_timeout, TrafficSettings::SECONDS),
    ] {
        if let Some(value) = value.filter(|value| !range.contains(value)) {
            let (start, end) = range.into_inner();
            refuse(&format!("/{name}"), format!("`{name}` takes {start} to {end}, found {value}"));
            is_sound = false;
        }
    }
    is_sound.then(|| CompiledAction::SetConfig(Arc::new(settings.clone())))
}
