//! Rulesets as they are and as they were: managed ones, those of accounts and zones (spec, "Rulesets").

use model::ruleset::Ruleset;
use model::{Declared, Phase, Provenance, Resources, RulesetOwner, RulesetSlot};
use serde::Serialize;
use store::Change;

use super::{accounts, shapes};
use crate::api::auth::Permission;
use crate::api::auth::scope::ScopeSubject;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{Answer, ApiCall, Kind, Operation, QueryParameter, ResultKind, Verb};
use crate::ruleset::ManagedRuleset;
use crate::snapshot::{Site, Snapshot};

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

/// The operations of an owner, whose path is `$owner`.
macro_rules! operations {
    ($owner:literal, $permission:expr, $of:literal) => {
        [
            read(
                concat!($owner, "/rulesets"),
                concat!("Lists the rulesets of ", $of, " and the managed ones, without rules."),
                $permission,
                ResultKind::List(shapes::RULESET),
                |call| Box::pin(list(call)),
            ),
            read(
                concat!($owner, "/rulesets/{ruleset_id}"),
                concat!("Shows a ruleset of ", $of, " or a managed one with its rules."),
                $permission,
                ResultKind::One(shapes::RULESET),
                |call| Box::pin(find(call)),
            ),
            read(
                concat!($owner, "/rulesets/phases/{phase}/entrypoint"),
                concat!(
                    "Shows the entry point of a phase of ",
                    $of,
                    " with its rules; 404 if there is none."
                ),
                $permission,
                ResultKind::One(shapes::RULESET),
                |call| Box::pin(find_entry_point(call)),
            ),
            read(
                concat!($owner, "/rulesets/phases/{phase}/entrypoint/versions"),
                concat!(
                    "Lists the versions of an entry point of ",
                    $of,
                    ", the newest first, without rules."
                ),
                $permission,
                ResultKind::List(shapes::RULESET),
                |call| Box::pin(async move { versions(&call, &phase(&call)?.into()).await }),
            ),
            read(
                concat!($owner, "/rulesets/phases/{phase}/entrypoint/versions/{version}"),
                concat!("Shows a version of an entry point of ", $of, " with its rules."),
                $permission,
                ResultKind::One(shapes::RULESET),
                |call| Box::pin(async move { version(&call, &phase(&call)?.into()).await }),
            ),
            read(
                concat!($owner, "/rulesets/{ruleset_id}/versions"),
                "Lists the versions of a ruleset, the newest first, without rules.",
                $permission,
                ResultKind::List(shapes::RULESET),
                |call| Box::pin(versions_by_id(call)),
            ),
            read(
                concat!($owner, "/rulesets/{ruleset_id}/versions/{version}"),
                "Shows a version of a ruleset with its rules.",
                $permission,
                ResultKind::One(shapes::RULESET),
                |call| Box::pin(version_by_id(call)),
            ),
            read(
                concat!($owner, "/rulesets/{ruleset_id}/versions/{version}/by_tag/{tag}"),
                "Shows those rules of a managed ruleset that have a tag.",
                $permission,
                ResultKind::One(shapes::RULESET),
                |call| Box::pin(async move { by_tag(&call) }),
            ),
            read(
                concat!($owner, "/rulesets/phases/{phase}/entrypoint/history"),
                concat!("Lists who changed an entry point of ", $of, " and when, the newest first."),
                $permission,
                ResultKind::List(shapes::PAST),
                |call| Box::pin(history(call)),
            ),
        ]
    };
}

pub(super) const OPERATIONS: &[Operation] =
    operations!("/zones/{zone_id}", Permission::WafRead, "a zone").as_slice();

/// Those of accounts.
pub(super) const OF_ACCOUNTS: &[Operation] =
    operations!("/accounts/{account_id}", Permission::RulesetsRead, "an account").as_slice();

/// Whose rulesets the path is about. Managed rulesets are those of every account, whatever it is called.
///
/// # Errors
/// If there is no such zone.
fn owner(call: &ApiCall) -> Result<RulesetOwner, ApiErrors> {
    match call.subject() {
        ScopeSubject::Zone(id, _) => Ok(RulesetOwner::Zone(id)),
        ScopeSubject::Account(id) => Ok(RulesetOwner::Account(id)),
        ScopeSubject::User | ScopeSubject::Unknown => Err(ApiError::unknown(&call.path).into()),
    }
}

/// Whose rulesets are to be changed.
///
/// # Errors
/// If there is no such account or zone.
pub(super) fn owner_of_write(call: &ApiCall) -> Result<RulesetOwner, ApiErrors> {
    match owner(call)? {
        RulesetOwner::Account(id) if !accounts::exists(&call.snapshot.resources, &id) => {
            Err(ApiError::unknown(&call.path).into())
        }
        owner => Ok(owner),
    }
}

/// What deletes the rulesets of an owner that goes.
pub(super) fn deletions(resources: &Resources, owner: &RulesetOwner) -> Vec<Change> {
    let rulesets = resources.rulesets_of(owner);
    rulesets.map(|ruleset| Change::delete_ruleset(owner.clone(), ruleset.slot())).collect()
}

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

/// The rulesets of an owner, as they are served.
fn rulesets<'s>(snapshot: &'s Snapshot, owner: &RulesetOwner) -> Vec<&'s Ruleset> {
    match owner {
        RulesetOwner::Zone(id) => {
            let name = snapshot.resources.zones.get(id).map(|zone| zone.name.as_str());
            match name.and_then(|name| snapshot.sites.get(name)) {
                Some(Site::Zone(zone)) => zone.rulesets.iter().collect(),
                _ => Vec::new(),
            }
        }
        RulesetOwner::Account(_) => {
            snapshot.resources.rulesets_of(owner).map(|declared| &declared.value).collect()
        }
    }
}

/// The entry point of a phase of the owner that the path names.
///
/// # Errors
/// If there is no such owner.
pub(super) fn entry_point(call: &ApiCall, phase: Phase) -> Result<Option<&Ruleset>, ApiErrors> {
    let owner = owner(call)?;
    Ok(rulesets(&call.snapshot, &owner).into_iter().find(|ruleset| ruleset.slot() == phase.into()))
}

/// The ruleset of an owner that the path names by its id.
fn ruleset_by_id<'s>(call: &ApiCall, snapshot: &'s Snapshot) -> Result<Option<&'s Ruleset>, ApiErrors> {
    let (owner, id) = (owner(call)?, call.parameter("ruleset_id"));
    Ok(rulesets(snapshot, &owner).into_iter().find(|ruleset| ruleset.id == id))
}

/// Its phase, and where its owner has it.
///
/// # Errors
/// If there is none of this id.
pub(super) fn slot_of_id(call: &ApiCall) -> Result<(Phase, RulesetSlot), ApiErrors> {
    let found = ruleset_by_id(call, &call.snapshot)?;
    found.map(|ruleset| (ruleset.phase, ruleset.slot())).ok_or_else(|| unknown_ruleset(&call.path))
}

async fn list(call: ApiCall) -> Answer {
    let owner = owner(&call)?;
    let own = rulesets(&call.snapshot, &owner);
    let mut rulesets: Vec<RulesetSummary> = own.into_iter().map(RulesetSummary::of).collect();
    rulesets.extend(managed(&call.snapshot));
    ApiReply::of(&rulesets)
}

async fn find(call: ApiCall) -> Answer {
    match ruleset_by_id(&call, &call.snapshot)? {
        Some(ruleset) => shown(&call, ruleset),
        None => ApiReply::of(&find_managed(&call)?.to_model(true)),
    }
}

async fn find_entry_point(call: ApiCall) -> Answer {
    let phase = phase(&call)?;
    shown(&call, entry_point(&call, phase)?.ok_or_else(|| no_entry_point(phase))?)
}

fn shown(call: &ApiCall, ruleset: &Ruleset) -> Answer {
    let stored = call.snapshot.resources.rulesets.get(&(owner(call)?, ruleset.slot()));
    Ok(ApiReply::of(ruleset)?.tagged(stored.and_then(|stored| revision(stored))))
}

async fn versions_by_id(call: ApiCall) -> Answer {
    match ruleset_by_id(&call, &call.snapshot)?.map(Ruleset::slot) {
        Some(slot) => versions(&call, &slot).await,
        None => ApiReply::of(&[find_managed(&call)?.to_model(false)]),
    }
}

async fn version_by_id(call: ApiCall) -> Answer {
    match ruleset_by_id(&call, &call.snapshot)?.map(Ruleset::slot) {
        Some(slot) => version(&call, &slot).await,
        None => ApiReply::of(&find_managed_version(&call)?.to_model(true)),
    }
}

fn by_tag(call: &ApiCall) -> Answer {
    owner(call)?;
    let mut ruleset = find_managed_version(call)?.to_model(true);
    let tag = call.parameter("tag");
    ruleset.rules.retain(|rule| rule.categories.iter().any(|category| category == tag));
    ApiReply::of(&ruleset)
}

/// What a ruleset was, the newest first.
async fn past(
    call: &ApiCall,
    slot: &RulesetSlot,
) -> Result<Vec<(store::PastRow, Option<Ruleset>)>, ApiErrors> {
    let owner = owner(call)?;
    let failed = |error: store::StoreError| ApiError::new(error::UNAVAILABLE, error.to_string());
    let (kind, id) = store::ruleset_row_id(&owner, slot).map_err(failed)?;
    let rows = call.shared.control.read(move |store| store.history(kind, &id)).await?;
    let mut past = Vec::with_capacity(rows.len());
    for row in rows {
        let ruleset = store::ruleset_of_row(row.body.as_deref()).map_err(failed)?;
        past.push((row, ruleset));
    }
    Ok(past)
}

/// The versions that can be shown: of one that a file declares, that which is served.
async fn all_versions(call: &ApiCall, slot: &RulesetSlot) -> Result<Vec<Ruleset>, ApiErrors> {
    let owner = owner(call)?;
    let now = rulesets(&call.snapshot, &owner).into_iter().find(|ruleset| ruleset.slot() == *slot);
    let Some(now) = now else { return Ok(Vec::new()) };
    let stored = call.snapshot.resources.rulesets.get(&(owner, slot.clone()));
    if stored.and_then(|stored| revision(stored)).is_none() {
        return Ok(vec![now.clone()]);
    }
    // Those of an entry point that was deleted are not those of the one that took its place.
    let past = past(call, slot).await?.into_iter().filter_map(|(_, ruleset)| ruleset);
    Ok(past.filter(|ruleset| ruleset.id == now.id).collect())
}

async fn versions(call: &ApiCall, slot: &RulesetSlot) -> Answer {
    let versions = all_versions(call, slot).await?;
    ApiReply::of(&versions.iter().map(RulesetSummary::of).collect::<Vec<_>>())
}

async fn version(call: &ApiCall, slot: &RulesetSlot) -> Answer {
    ApiReply::of(&find_version(call, slot).await?)
}

/// The version of a ruleset that the path names.
///
/// # Errors
/// If there is none.
pub(super) async fn find_version(call: &ApiCall, slot: &RulesetSlot) -> Result<Ruleset, ApiErrors> {
    let (versions, wanted) = (all_versions(call, slot).await?, call.parameter("version"));
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
    let past = past(&call, &phase.into()).await?.into_iter().map(|(row, ruleset)| Past {
        revision: row.revision,
        at: row.at,
        actor: row.actor,
        version: ruleset.map(|ruleset| ruleset.version),
    });
    ApiReply::of(&past.collect::<Vec<_>>())
}
