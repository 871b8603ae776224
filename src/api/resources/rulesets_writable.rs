//! Which rulesets a call may write or delete.

use std::sync::Arc;

use model::ruleset::{ActionParameters, Rule, Ruleset, RulesetOwner, RulesetSlot};
use model::{Declared, Phase, Resources, Zone};

use crate::api::error::{self, ApiError, ApiErrors};

/// The ruleset of a slot.
///
/// # Errors
/// As [`refuse_if_in_file`].
pub(super) fn ruleset_at<'r>(
    resources: &'r Resources,
    owner: &RulesetOwner,
    slot: &RulesetSlot,
) -> Result<Option<&'r Ruleset>, ApiErrors> {
    refuse_if_in_file(resources, owner, slot)?;
    Ok(resources.rulesets.get(&(owner.clone(), slot.clone())).map(|ruleset| &ruleset.value))
}

/// Refuses to delete a ruleset that is run or passed over.
///
/// # Errors
/// If rules name it.
pub(super) fn refuse_if_run(
    resources: &Resources,
    owner: &RulesetOwner,
    slot: &RulesetSlot,
) -> Result<(), ApiErrors> {
    let RulesetSlot::Custom { custom: id } = slot else { return Ok(()) };
    let account = match owner {
        RulesetOwner::Account(account) => Some(account),
        RulesetOwner::Zone(_) => None,
    };
    let is_below = |zone: &&Arc<Declared<Zone>>| match owner {
        RulesetOwner::Account(account) => zone.account == *account,
        RulesetOwner::Zone(of) => zone.id == *of,
    };
    let zones = || resources.zones.values().filter(is_below);
    let owners = account.map(|account| RulesetOwner::Account(account.clone())).into_iter();
    let owners = owners.chain(zones().map(|zone| RulesetOwner::Zone(zone.id.clone())));
    let stored = owners.flat_map(|owner| resources.rulesets_of(&owner).cloned().collect::<Vec<_>>());
    let names = |rule: &Rule| match &rule.action_parameters {
        Some(ActionParameters::Execute(execute)) => execute.id == *id,
        Some(ActionParameters::Skip(skip)) => skip.rulesets.contains(id) || skip.rules.contains_key(id),
        _ => false,
    };
    let of_files = zones().flat_map(|zone| &zone.rulesets).flat_map(|ruleset| &ruleset.rules);
    let uses = of_files.filter(|rule| names(rule)).count()
        + stored.map(|ruleset| ruleset.rules.iter().filter(|rule| names(rule)).count()).sum::<usize>();
    if uses == 0 {
        return Ok(());
    }
    let rules = if uses == 1 { "1 rule names".to_owned() } else { format!("{uses} rules name") };
    let message = format!("{rules} the ruleset {id}; delete or change what names it first");
    Err(ApiError::new(error::RULESET_IN_USE, message).into())
}

/// Refuses to write what is not the store's.
///
/// # Errors
/// If a file declares the ruleset, or its zone is gone.
pub(super) fn refuse_if_in_file(
    resources: &Resources,
    owner: &RulesetOwner,
    slot: &RulesetSlot,
) -> Result<(), ApiErrors> {
    let what = match slot {
        RulesetSlot::EntryPoint(phase) => format!("the entry point of phase `{}`", phase.word()),
        RulesetSlot::Custom { custom } => format!("the ruleset `{custom}`"),
    };
    let RulesetOwner::Zone(zone) = owner else {
        let known = resources.rulesets.get(&(owner.clone(), slot.clone()));
        let Some(place) = known.and_then(|known| known.place()) else { return Ok(()) };
        let message = format!("{what} is declared at {}; change it there", place.label());
        return Err(ApiError::new(error::IN_FILE, message).into());
    };
    let Some(zone) = resources.zones.get(zone) else { return Err(ApiError::unknown("").into()) };
    let is_declared = zone.rulesets.iter().any(|ruleset| ruleset.slot() == *slot)
        || match slot {
            RulesetSlot::EntryPoint(Phase::HttpRequestFirewallManaged) => zone.waf.is_some(),
            RulesetSlot::EntryPoint(Phase::HttpResponseFirewallManaged) => zone.sensitive_data.enabled,
            _ => false,
        };
    if !is_declared {
        return Ok(());
    }
    let (zone, provenance) = (&zone.name, &zone.provenance);
    let message = format!("{what} of the zone `{zone}` is declared at {provenance}; change it there");
    Err(ApiError::new(error::IN_FILE, message).into())
}
