//! The rules of a zone's entry point, read and changed by operations that had rules as resources of their own.

use expression::Expression;
use model::ruleset::{Rule, Ruleset};
use model::{Phase, RulesetOwner};
use serde_json::Value;

use crate::api::envelope::{ApiReply, Item};
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::{Fields, Findings};
use crate::api::operation::{ApiCall, new_id};
use crate::api::resources::rule_input::{MAX_RULES, next_version};
use crate::api::resources::{rulesets, rulesets_read};
use crate::control::Applied;

/// The rules of the entry point that the zone of a call has for a phase.
///
/// # Errors
/// If there is no such zone.
pub(super) fn rules(call: &ApiCall, phase: Phase) -> Result<Vec<Rule>, ApiErrors> {
    call.zone()?;
    let found = rulesets_read::entry_point(call, phase)?;
    Ok(found.map(|ruleset| ruleset.rules.clone()).unwrap_or_default())
}

/// Changes the rules of an entry point, which is made if it is missing, and returns them as they are then.
///
/// # Errors
/// Those of `change`, and of the write.
pub(super) async fn edit(
    call: &ApiCall,
    phase: Phase,
    change: impl Fn(&mut Vec<Rule>) -> Result<(), ApiErrors> + Send + 'static,
) -> Result<Vec<Rule>, ApiErrors> {
    let owner = RulesetOwner::Zone(call.zone()?.id.clone());
    let (id, kind) = (new_id()?, owner.kind());
    let applied: Applied = rulesets::edit(call, &owner, &phase.into(), true, move |known, now| {
        let mut ruleset = known.unwrap_or_else(|| rulesets::empty(id.clone(), kind, phase));
        let before = ruleset.rules.clone();
        change(&mut ruleset.rules)?;
        if ruleset.rules.len() > MAX_RULES {
            let message = format!("a zone has at most {MAX_RULES} rules of a phase");
            return Err(ApiError::new(error::TOO_MANY_RULES, message).into());
        }
        for rule in &mut ruleset.rules {
            let known = before.iter().find(|known| known.id == rule.id);
            if known != Some(rule) {
                rule.version = known.map_or_else(|| "1".to_owned(), |known| next_version(&known.version));
                now.clone_into(&mut rule.last_updated);
            }
        }
        Ok(ruleset)
    })
    .await?;
    let found = applied.resources.rulesets.get(&(owner, phase.into()));
    Ok(found.map(|ruleset| Ruleset::clone(ruleset).rules).unwrap_or_default())
}

/// A new id for a rule, which is its `ref` too.
///
/// # Errors
/// If the system has no random numbers.
pub(super) fn with_new_id(rule: Rule) -> Result<Rule, ApiErrors> {
    let id = new_id()?;
    let r#ref = if rule.r#ref.is_empty() { id.clone() } else { rule.r#ref.clone() };
    Ok(Rule { id, r#ref, ..rule })
}

/// That nothing has an id.
pub(super) fn unknown(what: &str, id: &str) -> ApiErrors {
    ApiError::new(error::NOT_FOUND, format!("the zone has no {what} `{id:.60}`")).into()
}

/// The ids that a query asks for.
pub(super) fn asked_ids(call: &ApiCall) -> Vec<String> {
    call.query.iter().filter(|(name, _)| name == "id").map(|(_, id)| id.clone()).collect()
}

/// Reads the list of a body with a function, with every error in it; one object is a list of one.
///
/// # Errors
/// All that were found.
pub(super) fn read_list<T>(
    body: &Value,
    read: impl Fn(&Fields<'_>) -> Option<T>,
) -> Result<(Vec<T>, Vec<String>), ApiErrors> {
    let findings = Findings::default();
    let mut all = Vec::new();
    match body {
        Value::Array(list) if list.len() > MAX_RULES => {
            let message = format!("expected at most {MAX_RULES} entries, found {}", list.len());
            findings.push(ApiError::at(error::TOO_MANY_RULES, "", message));
        }
        Value::Array(list) => {
            for (nth, entry) in list.iter().enumerate() {
                let read = Fields::at(entry, format!("/{nth}"), &findings).and_then(|fields| read(&fields));
                all.extend(read);
            }
        }
        one => all.extend(Fields::root(one, &findings).and_then(|fields| read(&fields))),
    }
    findings.into_result(all)
}

/// Reads the expression of a field, so that a mistake in it is told with its place in this body.
pub(super) fn expression(
    call: &ApiCall,
    fields: &Fields<'_>,
    name: &'static str,
    phase: Phase,
) -> Option<String> {
    let text = fields.required_text(name)?;
    let account = call.zone().ok()?.account.clone();
    match Expression::parse_with(text, phase, &call.snapshot.sets_of(&account)) {
        Ok(_) => Some(text.to_owned()),
        Err(mistake) => {
            fields.refuse(error::BAD_EXPRESSION, name, mistake.to_string());
            None
        }
    }
}

/// Says how many rules the old form has no words for.
pub(super) fn with_rules_left_out(mut reply: ApiReply, left_out: usize) -> ApiReply {
    if left_out > 0 {
        let rules = if left_out == 1 { "1 rule is".to_owned() } else { format!("{left_out} rules are") };
        let message = format!("{rules} left out, because this operation has no words for what they do");
        reply.messages.push(Item::new(error::ENDED.code, message));
    }
    reply
}
