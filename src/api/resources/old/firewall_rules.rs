//! Firewall rules: custom rules with a filter, which is their expression.

use model::Phase;
use model::ruleset::Rule;

use super::firewall_rule_form::{ShownFirewallRule, place, shown, written};
use super::operation::{WRITE, operation};
use super::zone_rules::{asked_ids, edit, read_list, rules, with_rules_left_out};
use super::{filters, shapes};
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Kind, Operation, PAGE, PER_PAGE, QueryParameter, ResultKind, Verb,
};
use crate::api::resources::rule_input;

pub(super) const PHASE: Phase = Phase::HttpRequestFirewallCustom;
const ALL: &str = "/zones/{zone_id}/firewall/rules";
const ONE: &str = "/zones/{zone_id}/firewall/rules/{rule_id}";

const ID: QueryParameter =
    QueryParameter { name: "id", kind: Kind::Text, doc: "The rules of these ids; repeated for several." };
/// What the filter of a rule that is deleted becomes.
const WITH_FILTER: QueryParameter = QueryParameter {
    name: "delete_filter_if_unused",
    kind: Kind::Flag,
    doc: "Whether its filter goes with it.",
};

const ITEM: InputShape = InputShape::Object(shapes::FIREWALL_RULE);
const ITEMS: InputShape = InputShape::List(shapes::FIREWALL_RULE);
const OF_ONE: ResultKind = ResultKind::One(shapes::FIREWALL_RULE);
const OF_ALL: ResultKind = ResultKind::List(shapes::FIREWALL_RULE);

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    operation(Verb::Get, ALL, "Lists firewall rules.", (LIST, ITEMS), OF_ALL, |call| Box::pin(list(call))),
    operation(Verb::Post, ALL, "Makes firewall rules.", (WRITE, ITEMS), OF_ALL, |call| {
        Box::pin(create(call))
    }),
    operation(Verb::Put, ALL, "Replaces firewall rules.", (WRITE, ITEMS), OF_ALL, |call| {
        Box::pin(change_several(call, true))
    }),
    operation(Verb::Patch, ALL, "Changes firewall rules.", (WRITE, ITEMS), OF_ALL, |call| {
        Box::pin(change_several(call, false))
    }),
    operation(
        Verb::Delete,
        ALL,
        "Deletes firewall rules.",
        (&[DRY_RUN, ID, WITH_FILTER], ITEMS),
        OF_ALL,
        |call| Box::pin(delete_several(call)),
    ),
    operation(Verb::Get, ONE, "Shows a firewall rule.", (&[], ITEM), OF_ONE, |call| Box::pin(find(call))),
    operation(Verb::Put, ONE, "Replaces a firewall rule.", (WRITE, ITEM), OF_ONE, |call| {
        Box::pin(change(call, true))
    }),
    operation(Verb::Patch, ONE, "Changes a firewall rule.", (WRITE, ITEM), OF_ONE, |call| {
        Box::pin(change(call, false))
    }),
    operation(
        Verb::Delete,
        ONE,
        "Deletes a firewall rule.",
        (&[DRY_RUN, WITH_FILTER], ITEM),
        OF_ONE,
        |call| Box::pin(delete(call)),
    ),
];

const LIST: &[QueryParameter] = &[
    PAGE,
    PER_PAGE,
    QueryParameter { name: "action", kind: Kind::Text, doc: "Only those of this action." },
    QueryParameter {
        name: "description",
        kind: Kind::Text,
        doc: "Only those whose description has this text.",
    },
    ID,
    QueryParameter { name: "paused", kind: Kind::Flag, doc: "Whether they are paused." },
];

async fn list(call: ApiCall) -> Answer {
    let rules = rules(&call, PHASE)?;
    let all: Vec<ShownFirewallRule<'_>> = (0..rules.len()).filter_map(|nth| shown(&rules, nth)).collect();
    let unused = rules.iter().filter(|rule| filters::is_unused(rule)).count();
    let left_out = rules.len() - all.len() - unused;
    let ids = asked_ids(&call);
    let is_asked = |rule: &ShownFirewallRule<'_>| {
        call.asked("action").is_none_or(|action| rule.action == action)
            && call
                .asked("description")
                .is_none_or(|text| rule.description.to_lowercase().contains(&text.to_lowercase()))
            && call.asked("paused").is_none_or(|paused| rule.paused.to_string() == paused)
            && (ids.is_empty() || ids.iter().any(|id| id == rule.id))
    };
    let all = all.into_iter().filter(is_asked).collect();
    let (all, info) = call.paging(25, 100)?.of(all);
    Ok(with_rules_left_out(ApiReply::page(&all, info)?, left_out))
}

async fn find(call: ApiCall) -> Answer {
    let rules = rules(&call, PHASE)?;
    let nth = place(&rules, call.parameter("rule_id"))?;
    ApiReply::of(&shown(&rules, nth))
}

async fn create(call: ApiCall) -> Answer {
    let (new, passed) = read_list(&call.body, |fields| {
        let rule = written(&call, fields)?;
        rule.check_whole(fields);
        Some(rule)
    })?;
    let made = std::sync::Arc::new(parking_lot::Mutex::new(Vec::new()));
    let told = std::sync::Arc::clone(&made);
    let rules = edit(&call, PHASE, move |rules| {
        let ids: Result<Vec<String>, ApiErrors> = new.iter().map(|rule| rule.add(rules)).collect();
        *told.lock() = ids?;
        Ok(())
    })
    .await?;
    let ids = made.lock().clone();
    of_ids(&rules, &ids, passed)
}

fn of_ids(rules: &[Rule], ids: &[String], passed: Vec<String>) -> Answer {
    let of_id = |id: &String| rules.iter().position(|rule| rule.id == *id).and_then(|nth| shown(rules, nth));
    let all: Vec<ShownFirewallRule<'_>> = ids.iter().filter_map(of_id).collect();
    Ok(ApiReply::of(&all)?.passing_over(passed))
}

async fn change_several(call: ApiCall, is_whole: bool) -> Answer {
    let (changes, passed) = read_list(&call.body, |fields| {
        let id = fields.required_text("id")?.to_owned();
        let rule = written(&call, fields)?;
        if is_whole {
            rule.check_whole(fields);
        }
        Some((id, rule))
    })?;
    let ids: Vec<String> = changes.iter().map(|(id, _)| id.clone()).collect();
    let rules =
        edit(&call, PHASE, move |rules| changes.iter().try_for_each(|(id, rule)| rule.change(rules, id)));
    of_ids(&rules.await?, &ids, passed)
}

async fn change(call: ApiCall, is_whole: bool) -> Answer {
    let (rule, passed) = rule_input::read(&call.body, |fields| {
        let rule = written(&call, fields)?;
        if is_whole {
            rule.check_whole(fields);
        }
        Some(rule)
    })?;
    let id = call.parameter("rule_id").to_owned();
    let of = id.clone();
    let rules = edit(&call, PHASE, move |rules| rule.change(rules, &of)).await?;
    let nth = place(&rules, &id)?;
    Ok(ApiReply::of(&shown(&rules, nth))?.passing_over(passed))
}

/// Deletes a rule. Its filter stays, as a rule that does nothing, if it is not to go too.
fn remove(rules: &mut Vec<Rule>, id: &str, with_filter: bool) -> Result<(), ApiErrors> {
    let nth = place(rules, id)?;
    let rule = rules.remove(nth);
    if !with_filter {
        rules.push(filters::unused(rule.id, rule.expression, rule.description));
    }
    Ok(())
}

async fn delete(call: ApiCall) -> Answer {
    let (id, with_filter) =
        (call.parameter("rule_id").to_owned(), call.flag(WITH_FILTER.name)? == Some(true));
    let before = rules(&call, PHASE)?;
    let nth = place(&before, &id)?;
    edit(&call, PHASE, move |rules| remove(rules, &id, with_filter)).await?;
    ApiReply::of(&shown(&before, nth))
}

async fn delete_several(call: ApiCall) -> Answer {
    let ids = asked_ids(&call);
    if ids.is_empty() {
        let message = "expected the rules to delete as `id=…`, repeated for several";
        return Err(ApiError::new(error::BAD_QUERY, message).into());
    }
    let (before, with_filter) = (rules(&call, PHASE)?, call.flag(WITH_FILTER.name)? == Some(true));
    let of = ids.clone();
    edit(&call, PHASE, move |rules| of.iter().try_for_each(|id| remove(rules, id, with_filter))).await?;
    of_ids(&before, &ids, Vec::new())
}
