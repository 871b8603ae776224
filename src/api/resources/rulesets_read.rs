//! Rulesets as they are and as they were: managed ones of accounts, entry points of zones (spec, "Rulesets").

use model::ruleset::Ruleset;
use model::{Declared, Phase, Provenance, ZoneId};
use serde::Serialize;

use super::shapes;
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{Answer, ApiCall, Kind, Operation, QueryParameter, ResultKind, Verb};
use crate::ruleset::ManagedRuleset;
use crate::snapshot::Snapshot;

const LIST: &[QueryParameter] = &[
    QueryParameter {
        name: "cursor",
        kind: Kind::Text,
        doc: "Lists have one page, so there is none to go on from.",
    },
    QueryParameter { name: "per_page", kind: Kind::Whole, doc: "Lists have one page." },
];

const fn read(
    path: &'static str,
    summary: &'static str,
    permission: Permission,
    output: ResultKind,
    run: fn(ApiCall) -> crate::api::operation::Running,
) -> Operation {
    Operation { verb: Verb::Get, path, summary, permission, query: LIST, input: None, output, run }
}

pub(super) const OPERATIONS: &[Operation] = &[
    read(
        "/accounts/{account_id}/rulesets",
        "Lists the managed rulesets, without rules.",
        Permission::RulesetsRead,
        ResultKind::List(shapes::RULESET),
        |call| Box::pin(async move { ApiReply::of(&managed(&call.snapshot)) }),
    ),
    read(
        "/accounts/{account_id}/rulesets/{ruleset_id}",
        "Shows a managed ruleset with its rules.",
        Permission::RulesetsRead,
        ResultKind::One(shapes::RULESET),
        |call| Box::pin(async move { ApiReply::of(&find_managed(&call)?.to_model(true)) }),
    ),
    read(
        "/accounts/{account_id}/rulesets/{ruleset_id}/versions",
        "Lists the versions of a managed ruleset, without rules.",
        Permission::RulesetsRead,
        ResultKind::List(shapes::RULESET),
        |call| Box::pin(async move { ApiReply::of(&[find_managed(&call)?.to_model(false)]) }),
    ),
    read(
        "/accounts/{account_id}/rulesets/{ruleset_id}/versions/{version}",
        "Shows a version of a managed ruleset.",
        Permission::RulesetsRead,
        ResultKind::One(shapes::RULESET),
        |call| Box::pin(async move { ApiReply::of(&find_managed_version(&call)?.to_model(true)) }),
    ),
    read(
        "/accounts/{account_id}/rulesets/{ruleset_id}/versions/{version}/by_tag/{tag}",
        "Shows those rules of a managed ruleset that have a tag.",
        Permission::RulesetsRead,
        ResultKind::One(shapes::RULESET),
        |call| {
            Box::pin(async move {
                let mut ruleset = find_managed_version(&call)?.to_model(true);
                let tag = call.parameter("tag");
                ruleset.rules.retain(|rule| rule.categories.iter().any(|category| category == tag));
                ApiReply::of(&ruleset)
            })
        },
    ),
    read(
        "/accounts/{account_id}/rulesets/phases/{phase}/entrypoint",
        "Shows the entry point of an account; accounts have none, so the answer is 404.",
        Permission::RulesetsRead,
        ResultKind::One(shapes::RULESET),
        |call| Box::pin(async move { Err(no_entry_point(phase(&call)?)) }),
    ),
    read(
        "/zones/{zone_id}/rulesets",
        "Lists the entry points of a zone and the managed rulesets it can run, without rules.",
        Permission::WafRead,
        ResultKind::List(shapes::RULESET),
        |call| Box::pin(list(call)),
    ),
    read(
        "/zones/{zone_id}/rulesets/{ruleset_id}",
        "Shows an entry point or a managed ruleset with its rules.",
        Permission::WafRead,
        ResultKind::One(shapes::RULESET),
        |call| Box::pin(find(call)),
    ),
    read(
        "/zones/{zone_id}/rulesets/phases/{phase}/entrypoint",
        "Shows the entry point of a phase with its rules; 404 if there is none.",
        Permission::WafRead,
        ResultKind::One(shapes::RULESET),
        |call| Box::pin(find_entry_point(call)),
    ),
    read(
        "/zones/{zone_id}/rulesets/phases/{phase}/entrypoint/versions",
        "Lists the versions of an entry point, the newest first, without rules.",
        Permission::WafRead,
        ResultKind::List(shapes::RULESET),
        |call| Box::pin(async move { versions(&call, phase(&call)?).await }),
    ),
    read(
        "/zones/{zone_id}/rulesets/phases/{phase}/entrypoint/versions/{version}",
        "Shows a version of an entry point with its rules.",
        Permission::WafRead,
        ResultKind::One(shapes::RULESET),
        |call| Box::pin(async move { version(&call, phase(&call)?).await }),
    ),
    read(
        "/zones/{zone_id}/rulesets/{ruleset_id}/versions",
        "Lists the versions of an entry point, the newest first, without rules.",
        Permission::WafRead,
        ResultKind::List(shapes::RULESET),
        |call| Box::pin(async move { versions(&call, phase_of_id(&call)?).await }),
    ),
    read(
        "/zones/{zone_id}/rulesets/{ruleset_id}/versions/{version}",
        "Shows a version of an entry point with its rules.",
        Permission::WafRead,
        ResultKind::One(shapes::RULESET),
        |call| Box::pin(async move { version(&call, phase_of_id(&call)?).await }),
    ),
    read(
        "/zones/{zone_id}/rulesets/phases/{phase}/entrypoint/history",
        "Lists who changed an entry point and when, the newest first.",
        Permission::WafRead,
        ResultKind::List(shapes::PAST),
        |call| Box::pin(history(call)),
    ),
];

pub(super) fn unknown_ruleset(path: &str) -> ApiErrors {
    let id = path.rsplit("/rulesets/").next().and_then(|rest| rest.split('/').next()).unwrap_or("");
    ApiError::new(error::NO_RULESET, format!("could not find ruleset {id}").trim_end().to_owned()).into()
}

pub(super) fn no_entry_point(phase: Phase) -> ApiErrors {
    let message = format!("could not find entrypoint ruleset in the {} phase", phase.word());
    ApiError::new(error::NO_RULESET, message).into()
}

/// The phase that the path names.
///
/// # Errors
/// If there is none of this name.
pub(super) fn phase(call: &ApiCall) -> Result<Phase, ApiErrors> {
    let word = call.parameter("phase");
    Phase::parse(word).ok_or_else(|| {
        let phases = Phase::ALL.map(Phase::word).join("`, `");
        let message = format!("unknown phase `{word}`; expected one of `{phases}`");
        ApiError::new(error::NO_RULESET, message).into()
    })
}

/// The revision that wrote a resource; `None` if a file declares it.
pub(super) fn revision<T>(declared: &Declared<T>) -> Option<u64> {
    match declared.provenance {
        Provenance::Revision(revision) => Some(revision),
        Provenance::File(_) => None,
    }
}

fn managed(snapshot: &Snapshot) -> Vec<RulesetSummary> {
    snapshot.managed.iter().map(|managed| RulesetSummary::of(&managed.to_model(false))).collect()
}

/// A ruleset in a list: without rules.
#[derive(Debug, Serialize)]
struct RulesetSummary {
    id: String,
    name: String,
    description: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    source: String,
    kind: model::RulesetKind,
    version: String,
    phase: Phase,
    #[serde(skip_serializing_if = "String::is_empty")]
    last_updated: String,
}

impl RulesetSummary {
    fn of(ruleset: &Ruleset) -> Self {
        Self {
            id: ruleset.id.clone(),
            name: ruleset.name.clone(),
            description: ruleset.description.clone(),
            source: ruleset.source.clone(),
            kind: ruleset.kind,
            version: ruleset.version.clone(),
            phase: ruleset.phase,
            last_updated: ruleset.last_updated.clone(),
        }
    }
}

fn find_managed(call: &ApiCall) -> Result<&ManagedRuleset, ApiErrors> {
    let id = call.parameter("ruleset_id");
    let found = call.snapshot.managed.iter().find(|managed| managed.id.as_str() == id);
    found.map(AsRef::as_ref).ok_or_else(|| unknown_ruleset(&call.path))
}

fn find_managed_version(call: &ApiCall) -> Result<&ManagedRuleset, ApiErrors> {
    let managed = find_managed(call)?;
    match call.parameter("version") {
        "latest" | ManagedRuleset::VERSION => Ok(managed),
        other => {
            let message = format!("could not find version {other} of the ruleset");
            Err(ApiError::new(error::NO_RULESET, message).into())
        }
    }
}

/// The entry points of a zone, as they are served.
fn entry_points<'s>(snapshot: &'s Snapshot, zone: &ZoneId) -> &'s [Ruleset] {
    let found = snapshot.zones().find(|known| known.id == *zone);
    found.map_or(&[], |zone| zone.rulesets.as_slice())
}

/// An entry point by its id.
pub(super) fn of_zone<'s>(snapshot: &'s Snapshot, zone: &ZoneId, id: &str) -> Option<&'s Ruleset> {
    entry_points(snapshot, zone).iter().find(|ruleset| ruleset.id == id)
}

fn phase_of_id(call: &ApiCall) -> Result<Phase, ApiErrors> {
    let zone = call.zone()?;
    let found = of_zone(&call.snapshot, &zone.id, call.parameter("ruleset_id"));
    found.map(|ruleset| ruleset.phase).ok_or_else(|| unknown_ruleset(&call.path))
}

async fn list(call: ApiCall) -> Answer {
    let zone = call.zone()?;
    let mut rulesets: Vec<RulesetSummary> =
        entry_points(&call.snapshot, &zone.id).iter().map(RulesetSummary::of).collect();
    rulesets.extend(managed(&call.snapshot));
    ApiReply::of(&rulesets)
}

async fn find(call: ApiCall) -> Answer {
    let zone = call.zone()?;
    match of_zone(&call.snapshot, &zone.id, call.parameter("ruleset_id")) {
        Some(ruleset) => shown(&call, &zone.id, ruleset),
        None => ApiReply::of(&find_managed(&call)?.to_model(true)),
    }
}

async fn find_entry_point(call: ApiCall) -> Answer {
    let (zone, phase) = (call.zone()?, phase(&call)?);
    let found = entry_points(&call.snapshot, &zone.id).iter().find(|ruleset| ruleset.phase == phase);
    shown(&call, &zone.id, found.ok_or_else(|| no_entry_point(phase))?)
}

fn shown(call: &ApiCall, zone: &ZoneId, ruleset: &Ruleset) -> Answer {
    let stored = call.snapshot.resources.rulesets.get(&(zone.clone(), ruleset.phase));
    Ok(ApiReply::of(ruleset)?.tagged(stored.and_then(|stored| revision(stored))))
}

/// What an entry point was, the newest first.
async fn past(call: &ApiCall, phase: Phase) -> Result<Vec<(store::PastRow, Option<Ruleset>)>, ApiErrors> {
    let zone = call.zone()?;
    let failed = |error: store::StoreError| ApiError::new(error::UNAVAILABLE, error.to_string());
    let (kind, id) = store::ruleset_row_id(&zone.id, phase).map_err(failed)?;
    let rows = call.shared.control.history(kind, id).await?;
    let mut past = Vec::with_capacity(rows.len());
    for row in rows {
        let ruleset = store::ruleset_of_row(row.body.as_deref()).map_err(failed)?;
        past.push((row, ruleset));
    }
    Ok(past)
}

/// The versions that can be shown: of one that a file declares, that which is served.
async fn all_versions(call: &ApiCall, phase: Phase) -> Result<Vec<Ruleset>, ApiErrors> {
    let zone = call.zone()?;
    let now = entry_points(&call.snapshot, &zone.id).iter().find(|ruleset| ruleset.phase == phase);
    let Some(now) = now else { return Ok(Vec::new()) };
    if !call.snapshot.resources.rulesets.contains_key(&(zone.id.clone(), phase)) {
        return Ok(vec![now.clone()]);
    }
    // Those of an entry point that was deleted are not those of the one that took its place.
    let past = past(call, phase).await?.into_iter().filter_map(|(_, ruleset)| ruleset);
    Ok(past.filter(|ruleset| ruleset.id == now.id).collect())
}

async fn versions(call: &ApiCall, phase: Phase) -> Answer {
    let versions = all_versions(call, phase).await?;
    ApiReply::of(&versions.iter().map(RulesetSummary::of).collect::<Vec<_>>())
}

async fn version(call: &ApiCall, phase: Phase) -> Answer {
    ApiReply::of(&find_version(call, phase).await?)
}

/// The version of an entry point that the path names.
///
/// # Errors
/// If there is none.
pub(super) async fn find_version(call: &ApiCall, phase: Phase) -> Result<Ruleset, ApiErrors> {
    let (versions, wanted) = (all_versions(call, phase).await?, call.parameter("version"));
    let found = versions
        .iter()
        .enumerate()
        .find(|(nth, ruleset)| ruleset.version == wanted || (wanted == "latest" && *nth == 0));
    match found {
        Some((_, ruleset)) => Ok(ruleset.clone()),
        None => {
            let message = format!("could not find version {wanted} of the ruleset");
            Err(ApiError::new(error::NO_RULESET, message).into())
        }
    }
}

#[derive(Debug, Serialize)]
struct Past {
    revision: u64,
    at: String,
    actor: String,
    version: Option<String>,
}

async fn history(call: ApiCall) -> Answer {
    let phase = phase(&call)?;
    let past = past(&call, phase).await?.into_iter().map(|(row, ruleset)| Past {
        revision: row.revision,
        at: row.at,
        actor: row.actor,
        version: ruleset.map(|ruleset| ruleset.version),
    });
    ApiReply::of(&past.collect::<Vec<_>>())
}
