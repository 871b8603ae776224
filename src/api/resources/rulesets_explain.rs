//! What each managed rule does for a zone, and which override decided so.

use serde::Serialize;

use super::rulesets_read;
use super::shapes;
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError};
use crate::api::operation::{Answer, ApiCall, Kind, Operation, QueryParameter, ResultKind, Running, Verb};
use crate::ruleset::overrides::{self, Decided};
use model::Action;
use model::ruleset::ActionParameters;

const fn explanation(path: &'static str, summary: &'static str, permission: Permission) -> Operation {
    let query: &[QueryParameter] = &[QueryParameter {
        name: "rule",
        kind: Kind::Text,
        doc: "The id of the `execute` rule that is meant; the first if it is not given.",
    }];
    let output = ResultKind::List(shapes::EXPLANATION);
    let run: fn(ApiCall) -> Running = |call| Box::pin(explain(call));
    Operation { verb: Verb::Get, path, summary, permission, query, input: None, output, run }
}

pub(super) const OPERATIONS: &[Operation] = &[
    explanation(
        "/zones/{zone_id}/rulesets/phases/{phase}/entrypoint/explain",
        "Shows what each managed rule does for a zone, and which override decided so.",
        Permission::WafRead,
    ),
    explanation(
        "/accounts/{account_id}/rulesets/phases/{phase}/entrypoint/explain",
        "Shows what each managed rule does for all zones of an account, and which override decided so.",
        Permission::RulesetsRead,
    ),
];

/// One managed rule in one deployment.
#[derive(Debug, Serialize)]
struct Explanation<'r> {
    id: &'r str,
    r#ref: &'r str,
    description: &'r str,
    paranoia_level: Option<u8>,
    enabled: bool,
    enabled_by: String,
    action: Option<Action>,
    score_threshold: Option<i64>,
}

async fn explain(call: ApiCall) -> Answer {
    let phase = rulesets_read::phase(&call)?;
    let ruleset =
        rulesets_read::entry_point(&call, phase)?.ok_or_else(|| rulesets_read::no_entry_point(phase))?;
    let is_meant = |rule: &&model::Rule| match call.asked("rule") {
        Some(id) => rule.id == id,
        None => rule.action == Action::Execute,
    };
    let no_rule = || ApiError::new(error::NO_RULE, "the ruleset has no such `execute` rule");
    let rule = ruleset.rules.iter().find(is_meant).ok_or_else(no_rule)?;
    let Some(ActionParameters::Execute(parameters)) = &rule.action_parameters else {
        return Err(no_rule().into());
    };
    let managed = call.snapshot.managed.iter().find(|managed| managed.id.as_str() == parameters.id);
    let managed = managed.ok_or_else(no_rule)?;
    let none = model::Overrides::default();
    let overrides = parameters.overrides.as_ref().unwrap_or(&none);
    let mut ignored = diagnostic::Diagnostics::default();
    let effective = overrides::apply(managed, overrides, &mut ignored);
    let explained = managed.rules.iter().map(|known| {
        let Decided { is_enabled, by } = overrides::decided(known, overrides);
        let acts = known.score_threshold.is_some();
        Explanation {
            id: known.id.as_str(),
            r#ref: &known.reference,
            description: &known.description,
            paranoia_level: overrides::paranoia_level(known),
            enabled: rule.enabled && is_enabled,
            enabled_by: if rule.enabled { by } else { "the rule that runs the ruleset".to_owned() },
            action: match phase.is_of_response() {
                false => effective.action.filter(|_| acts),
                true => is_enabled.then_some(Action::Log),
            },
            score_threshold: acts.then_some(effective.score_threshold),
        }
    });
    ApiReply::of(&explained.collect::<Vec<_>>())
}
