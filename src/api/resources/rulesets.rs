//! Rulesets of accounts and zones: made, replaced, deleted, and their rules (spec, "Rulesets").

use model::Phase;
use model::ruleset::{Rule, Ruleset, RulesetKind, RulesetOwner, RulesetSlot};
use store::Change;

use super::rule_input::{self, MAX_RULES};
use super::rule_position::RulePosition;
use super::rulesets_read::{self, unknown_ruleset};
use super::rulesets_writable;
use super::shapes;
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Operation, QueryParameter, ResultKind, Verb, new_id,
};
use crate::control::Applied;

/// Most rulesets of one owner.
const MAX_RULESETS: usize = 1000;

const QUERY: &[QueryParameter] = &[DRY_RUN];

/// The operations of an owner, whose path is `$owner`.
macro_rules! operations {
    ($owner:literal, $permission:expr, $of:literal) => {
        [
            Operation {
                verb: Verb::Post,
                path: concat!($owner, "/rulesets"),
                summary: concat!("Makes the entry point of a phase of ", $of, ", or a ruleset of the kind `custom` that entry points can run."),
                permission: $permission,
                query: QUERY,
                input: Some(InputShape::Object(shapes::RULESET)),
                output: ResultKind::One(shapes::RULESET),
                run: |call| Box::pin(create(call)),
            },
            Operation {
                verb: Verb::Put,
                path: concat!($owner, "/rulesets/{ruleset_id}"),
                summary: concat!("Replaces the rules of a ruleset of ", $of, "; rules of the same id or `ref` stay the same rules."),
                permission: $permission,
                query: QUERY,
                input: Some(InputShape::Object(shapes::RULESET)),
                output: ResultKind::One(shapes::RULESET),
                run: |call| Box::pin(replace(call)),
            },
            Operation {
                verb: Verb::Delete,
                path: concat!($owner, "/rulesets/{ruleset_id}"),
                summary: concat!("Deletes a ruleset of ", $of, "."),
                permission: $permission,
                query: QUERY,
                input: None,
                output: ResultKind::Nothing,
                run: |call| Box::pin(delete(call)),
            },
            Operation {
                verb: Verb::Put,
                path: concat!($owner, "/rulesets/phases/{phase}/entrypoint"),
                summary: concat!("Replaces the rules of the entry point of a phase of ", $of, ", or makes it."),
                permission: $permission,
                query: QUERY,
                input: Some(InputShape::Object(shapes::RULESET)),
                output: ResultKind::One(shapes::RULESET),
                run: |call| Box::pin(replace_entry_point(call)),
            },
            Operation {
                verb: Verb::Post,
                path: concat!($owner, "/rulesets/{ruleset_id}/versions/{version}/restore"),
                summary: "Puts the rules of an earlier version in force again, as a new version.",
                permission: $permission,
                query: QUERY,
                input: None,
                output: ResultKind::One(shapes::RULESET),
                run: |call| Box::pin(restore(call)),
            },
            Operation {
                verb: Verb::Post,
                path: concat!($owner, "/rulesets/{ruleset_id}/rules"),
                summary: "Adds a rule, at the end or at `position`; the result is the whole ruleset.",
                permission: $permission,
                query: QUERY,
                input: Some(InputShape::Object(shapes::RULE)),
                output: ResultKind::One(shapes::RULESET),
                run: |call| Box::pin(add_rule(call)),
            },
            Operation {
                verb: Verb::Patch,
                path: concat!($owner, "/rulesets/{ruleset_id}/rules/{rule_id}"),
                summary: "Replaces the definition of a rule, or only moves it if there is nothing but `position`.",
                permission: $permission,
                query: QUERY,
                input: Some(InputShape::Object(shapes::RULE)),
                output: ResultKind::One(shapes::RULESET),
                run: |call| Box::pin(change_rule(call)),
            },
            Operation {
                verb: Verb::Delete,
                path: concat!($owner, "/rulesets/{ruleset_id}/rules/{rule_id}"),
                summary: "Deletes a rule; the result is the whole ruleset.",
                permission: $permission,
                query: QUERY,
                input: None,
                output: ResultKind::One(shapes::RULESET),
                run: |call| Box::pin(delete_rule(call)),
            },
        ]
    };
}

pub(super) const OPERATIONS: &[Operation] =
    operations!("/zones/{zone_id}", Permission::WafWrite, "a zone").as_slice();

/// Those of accounts.
pub(super) const OF_ACCOUNTS: &[Operation] =
    operations!("/accounts/{account_id}", Permission::RulesetsWrite, "an account").as_slice();

/// A ruleset as a body writes it.
#[derive(Clone, Debug)]
struct WrittenRuleset {
    name: Option<String>,
    description: Option<String>,
    kind: Option<RulesetKind>,
    phase: Option<Phase>,
    rules: Vec<Rule>,
}

fn written(fields: &Fields<'_>) -> Option<WrittenRuleset> {
    fields.ignore(&["id", "version", "last_updated", "source"]);
    Some(WrittenRuleset {
        name: fields.text("name").map(str::to_owned),
        description: fields.text("description").map(str::to_owned),
        kind: fields.word("kind", error::BAD_KIND),
        phase: fields.word("phase", error::BAD_PHASE),
        rules: rule_input::rules(fields),
    })
}

async fn create(call: ApiCall) -> Answer {
    let owner = rulesets_read::owner_of_write(&call)?;
    let kind = owner.kind();
    let (body, unknown) = rule_input::read(&call.body, |fields| {
        let body = written(fields)?;
        match body.kind {
            Some(found) if found == kind || found == RulesetKind::Custom => {}
            Some(RulesetKind::Managed) => {
                let message =
                    format!("managed rulesets ship with the program; expected the kind `{}`", kind.word());
                fields.refuse(error::BAD_KIND, "kind", message);
            }
            Some(found) => fields.refuse(error::BAD_KIND, "kind", wrong_kind(found, kind)),
            None if fields.value("kind").is_none() => {
                fields.refuse(
                    error::BAD_KIND,
                    "kind",
                    format!("`kind` is required: expected `{}`", kind.word()),
                );
            }
            None => {}
        }
        if body.phase.is_none() && fields.value("phase").is_none() {
            let phases = Phase::ALL.map(Phase::word).join("`, `");
            let message = format!("`phase` is required: expected one of `{phases}`");
            fields.refuse(error::BAD_PHASE, "phase", message);
        }
        Some(body)
    })?;
    // INVARIANT: a body without a phase has an error.
    let phase = body.phase.ok_or_else(|| ApiError::new(error::BAD_PHASE, "`phase` is required"))?;
    let kind = body.kind.unwrap_or(kind);
    let (id, now, of) = (new_id()?, call.now.clone(), owner.clone());
    let slot = Ruleset { id: id.clone(), ..Ruleset::new(kind, phase) }.slot();
    let at = slot.clone();
    let applied = call
        .write(move |resources| {
            if kind == RulesetKind::Custom && resources.rulesets_of(&of).count() >= MAX_RULESETS {
                let message = format!("there are {MAX_RULESETS} rulesets already, which is as many as there can be");
                return Err(ApiError::new(error::TOO_MANY_RULES, message).into());
            }
            if let Some(known) = rulesets_writable::ruleset_at(resources, &of, &at)? {
                let message = format!(
                    "'{0}' is not a valid value for kind because exceeded maximum number of {0} rulesets for phase \
                     {1}; the entry point is {2}",
                    kind.word(),
                    phase.word(),
                    known.id
                );
                return Err(ApiError::at(error::ENTRY_POINT_EXISTS, "/kind", message).into());
            }
            let ruleset = Ruleset {
                id: id.clone(),
                name: body.name.clone().unwrap_or_else(|| "default".to_owned()),
                description: body.description.clone().unwrap_or_default(),
                last_updated: now.clone(),
                rules: rule_input::matched(body.rules.clone(), &[], &now)?,
                ..Ruleset::new(kind, phase)
            };
            Ok(vec![Change::put_ruleset(of.clone(), ruleset)])
        })
        .await?;
    shown(&applied, &owner, &slot, unknown)
}

async fn replace(call: ApiCall) -> Answer {
    let (phase, slot) = rulesets_read::slot_of_id(&call)?;
    put(call, phase, slot, false).await
}

async fn replace_entry_point(call: ApiCall) -> Answer {
    let phase = rulesets_read::phase(&call)?;
    put(call, phase, phase.into(), true).await
}

async fn put(call: ApiCall, phase: Phase, slot: RulesetSlot, may_create: bool) -> Answer {
    let owner = rulesets_read::owner_of_write(&call)?;
    let kind = match slot {
        RulesetSlot::EntryPoint(_) => owner.kind(),
        RulesetSlot::Custom { .. } => RulesetKind::Custom,
    };
    let (body, unknown) = rule_input::read(&call.body, |fields| {
        let body = written(fields)?;
        if let Some(found) = body.kind.filter(|found| *found != kind) {
            fields.refuse(error::BAD_KIND, "kind", wrong_kind(found, kind));
        }
        if body.phase.is_some_and(|written| written != phase) {
            let message = format!("the phase of a ruleset cannot be changed; it is `{}`", phase.word());
            fields.refuse(error::BAD_PHASE, "phase", message);
        }
        Some(body)
    })?;
    let (id, path) = (new_id()?, call.path.clone());
    let applied = edit(&call, &owner, &slot, may_create, move |known, now| {
        let known = known.or_else(|| may_create.then(|| empty(id.clone(), kind, phase)));
        let Some(mut ruleset) = known else { return Err(unknown_ruleset(&path)) };
        ruleset.rules = rule_input::matched(body.rules.clone(), &ruleset.rules, now)?;
        ruleset.name = body.name.clone().unwrap_or(ruleset.name);
        ruleset.description = body.description.clone().unwrap_or(ruleset.description);
        Ok(ruleset)
    });
    shown(&applied.await?, &owner, &slot, unknown)
}

fn wrong_kind(found: RulesetKind, expected: RulesetKind) -> String {
    format!("expected the kind `{}`, found `{}`", expected.word(), found.word())
}

/// A ruleset without rules that was never written.
pub(super) fn empty(id: String, kind: RulesetKind, phase: Phase) -> Ruleset {
    let (name, version) = ("default".to_owned(), "0".to_owned());
    Ruleset { id, name, version, ..Ruleset::new(kind, phase) }
}

async fn restore(call: ApiCall) -> Answer {
    let (owner, (_, slot)) = (rulesets_read::owner_of_write(&call)?, rulesets_read::slot_of_id(&call)?);
    let then = rulesets_read::find_version(&call, &slot).await?;
    let path = call.path.clone();
    let applied = edit(&call, &owner, &slot, false, move |known, now| {
        let known = known.ok_or_else(|| unknown_ruleset(&path))?;
        let rules = rule_input::matched(then.rules.clone(), &known.rules, now)?;
        Ok(Ruleset { name: then.name.clone(), description: then.description.clone(), rules, ..known })
    });
    shown(&applied.await?, &owner, &slot, Vec::new())
}

async fn delete(call: ApiCall) -> Answer {
    let (owner, (_, slot)) = (rulesets_read::owner_of_write(&call)?, rulesets_read::slot_of_id(&call)?);
    let precondition = call.precondition();
    let path = call.path.clone();
    call.write(move |resources| {
        rulesets_writable::refuse_if_in_file(resources, &owner, &slot)?;
        let known = resources.rulesets.get(&(owner.clone(), slot.clone()));
        precondition.check(known.and_then(|known| revision(known)))?;
        known.ok_or_else(|| unknown_ruleset(&path))?;
        rulesets_writable::refuse_if_run(resources, &owner, &slot)?;
        Ok(vec![Change::delete_ruleset(owner.clone(), slot.clone())])
    })
    .await?;
    Ok(ApiReply::no_content())
}

async fn add_rule(call: ApiCall) -> Answer {
    let (owner, (phase, slot)) = (rulesets_read::owner_of_write(&call)?, rulesets_read::slot_of_id(&call)?);
    let ((rule, position), unknown) =
        rule_input::read(&call.body, |fields| Some((rule_input::rule(fields)?, RulePosition::read(fields))))?;
    let path = call.path.clone();
    let applied = edit(&call, &owner, &slot, false, move |known, now| {
        let mut ruleset = known.ok_or_else(|| unknown_ruleset(&path))?;
        if ruleset.rules.len() >= MAX_RULES {
            let message = format!("exceeded maximum number of rules in the phase {}", phase.word());
            return Err(ApiError::new(error::TOO_MANY_RULES, message).into());
        }
        let added = rule_input::successor(Rule { id: String::new(), ..rule.clone() }, None, now)?;
        position.insert(&mut ruleset.rules, added)?;
        Ok(ruleset)
    });
    shown(&applied.await.map_err(of_rule)?, &owner, &slot, unknown)
}

async fn change_rule(call: ApiCall) -> Answer {
    let (owner, (_, slot)) = (rulesets_read::owner_of_write(&call)?, rulesets_read::slot_of_id(&call)?);
    let only_moves = call.body.as_object().is_some_and(|object| {
        let mut names = object.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name.as_str());
        object.contains_key("position") && names.all(|name| matches!(name, "position" | "id"))
    });
    let ((rule, position), unknown) = rule_input::read(&call.body, |fields| {
        let rule = if only_moves { None } else { Some(rule_input::rule(fields)?) };
        Some((rule, fields.value("position").is_some().then(|| RulePosition::read(fields))))
    })?;
    let (id, path) = (call.parameter("rule_id").to_owned(), call.path.clone());
    let applied = edit(&call, &owner, &slot, false, move |known, now| {
        let mut ruleset = known.ok_or_else(|| unknown_ruleset(&path))?;
        let place = rule_place(&ruleset, &id)?;
        let known = ruleset.rules.remove(place);
        let changed = match &rule {
            Some(rule) => rule_input::successor(rule.clone(), Some(&known), now)?,
            None => known,
        };
        match &position {
            Some(position) => position.insert(&mut ruleset.rules, changed)?,
            None => ruleset.rules.insert(place, changed),
        }
        Ok(ruleset)
    });
    shown(&applied.await.map_err(of_rule)?, &owner, &slot, unknown)
}

async fn delete_rule(call: ApiCall) -> Answer {
    let (owner, (_, slot)) = (rulesets_read::owner_of_write(&call)?, rulesets_read::slot_of_id(&call)?);
    let (id, path) = (call.parameter("rule_id").to_owned(), call.path.clone());
    let applied = edit(&call, &owner, &slot, false, move |known, _| {
        let mut ruleset = known.ok_or_else(|| unknown_ruleset(&path))?;
        let place = rule_place(&ruleset, &id)?;
        ruleset.rules.remove(place);
        Ok(ruleset)
    });
    shown(&applied.await?, &owner, &slot, Vec::new())
}

fn rule_place(ruleset: &Ruleset, id: &str) -> Result<usize, ApiErrors> {
    let found = ruleset.rules.iter().position(|rule| rule.id == id);
    let missing = || ApiError::new(error::NO_RULE, format!("the ruleset has no rule `{id}`")).into();
    found.ok_or_else(missing)
}

/// Errors of a rule whose body is the rule itself, not a ruleset.
fn of_rule(errors: ApiErrors) -> ApiErrors {
    let number = errors.iter().find_map(|error| {
        let rest = error.pointer.as_deref()?.strip_prefix("/rules/")?;
        Some(rest.split('/').next().unwrap_or("").to_owned())
    });
    match number {
        Some(number) => errors.within(&format!("/rules/{number}")),
        None => errors,
    }
}

/// Changes a ruleset as `change` says, which gets what there is and the time. One that is the same afterwards keeps
/// its version.
pub(super) async fn edit(
    call: &ApiCall,
    owner: &RulesetOwner,
    slot: &RulesetSlot,
    may_create: bool,
    change: impl Fn(Option<Ruleset>, &str) -> Result<Ruleset, ApiErrors> + Send + 'static,
) -> Result<Applied, ApiErrors> {
    let (owner, slot) = (owner.clone(), slot.clone());
    let (now, precondition) = (call.now.clone(), call.precondition());
    call.write(move |resources| {
        rulesets_writable::refuse_if_in_file(resources, &owner, &slot)?;
        let known = resources.rulesets.get(&(owner.clone(), slot.clone()));
        if known.is_some() || !may_create {
            precondition.check(known.and_then(|known| revision(known)))?;
        }
        let known = known.map(|known| known.value.clone());
        let mut changed = change(known.clone(), &now)?;
        if known.as_ref() == Some(&changed) {
            return Ok(Vec::new());
        }
        changed.version = rule_input::next_version(&changed.version);
        changed.last_updated = now.clone();
        Ok(vec![Change::put_ruleset(owner.clone(), changed)])
    })
    .await
}

fn revision<T>(declared: &model::Declared<T>) -> Option<u64> {
    rulesets_read::revision(declared)
}

/// The ruleset as it is after a write.
fn shown(applied: &Applied, owner: &RulesetOwner, slot: &RulesetSlot, unknown: Vec<String>) -> Answer {
    let found = applied.resources.rulesets.get(&(owner.clone(), slot.clone()));
    let ruleset = found.ok_or_else(|| unknown_ruleset(""))?;
    Ok(ApiReply::of(&ruleset.value)?.tagged(revision(ruleset)).passing_over(unknown))
}
