//! What each managed rule does for a zone, and which override decided so.

use serde::Serialize;

use super::rulesets_read;
use super::shapes;
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError};
use crate::api::operation::{Answer, ApiCall, Kind, Operation, QueryParameter, ResultKind, Verb};
use crate::ruleset::overrides::{self, Decided};
use model::{Action, Phase};

pub(super) const OPERATIONS: &[Operation] = &[Operation {
    verb: Verb::Get,
    path: "/zones/{zone_id}/rulesets/phases/{phase}/entrypoint/explain",
    summary: "Shows what each managed rule does for a zone, and which override decided so.",
    permission: Permission::WafRead,
    query: &[QueryParameter {
        name: "rule",
        kind: Kind::Text,
        doc: "The id of the `execute` rule that is meant; the first if it is not given.",
    }],
    input: None,
    output: ResultKind::List(shapes::EXPLANATION),
    run: |call| Box::pin(explain(call)),
}];

/// One managed rule in one deployment.
#[derive(Debug, Serialize)]
struct Explanation<'r> {
    id: &'r str,
    r#ref: &'r str,
    description: &'r str,
    enabled: bool,
    enabled_by: String,
    action: Option<Action>,
    score_threshold: Option<i64>,
}

async fn explain(call: ApiCall) -> Answer {
    let (zone, phase) = (call.zone()?, rulesets_read::phase(&call)?);
    let zone = call.snapshot.zones().find(|known| known.id == zone.id);
    let ruleset = zone.and_then(|zone| zone.rulesets.iter().find(|ruleset| ruleset.phase == phase));
    let ruleset = ruleset.ok_or_else(|| rulesets_read::no_entry_point(phase))?;
    let is_meant = |rule: &&model::Rule| match call.asked("rule") {
        Some(id) => rule.id == id,
        None => rule.action == Action::Execute,
    };
    let no_rule = || ApiError::new(error::NO_RULE, "the ruleset has no such `execute` rule");
    let rule = ruleset.rules.iter().find(is_meant).ok_or_else(no_rule)?;
    let parameters = rule.action_parameters.as_ref().ok_or_else(no_rule)?;
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
            enabled: rule.enabled && is_enabled,
            enabled_by: if rule.enabled { by } else { "the rule that runs the ruleset".to_owned() },
            action: match phase {
                Phase::HttpRequestFirewallManaged => effective.action.filter(|_| acts),
                Phase::HttpResponseFirewallManaged => is_enabled.then_some(Action::Log),
            },
            score_threshold: acts.then_some(effective.score_threshold),
        }
    });
    ApiReply::of(&explained.collect::<Vec<_>>())
}
