//! Filters: the expressions of custom rules. One that no rule uses is a rule that is off and named after itself.

use model::ruleset::Rule;
use model::{Action, Phase};
use serde::Serialize;

use super::operation::{WRITE, operation};
use super::shapes;
use super::zone_rules::{asked_ids, edit, expression, read_list, rules, unknown, with_new_id};
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Kind, Operation, PAGE, PER_PAGE, QueryParameter, ResultKind, Verb,
};
use crate::api::resources::rule_input;

const PHASE: Phase = Phase::HttpRequestFirewallCustom;
const ALL: &str = "/zones/{zone_id}/filters";
const ONE: &str = "/zones/{zone_id}/filters/{filter_id}";
const ID: QueryParameter =
    QueryParameter { name: "id", kind: Kind::Text, doc: "The filters of these ids; repeated for several." };

const ITEM: InputShape = InputShape::Object(shapes::FILTER);
const ITEMS: InputShape = InputShape::List(shapes::FILTER);
const OF_ONE: ResultKind = ResultKind::One(shapes::FILTER);
const OF_ALL: ResultKind = ResultKind::List(shapes::FILTER);

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    operation(Verb::Get, ALL, "Lists filters.", (&[PAGE, PER_PAGE, ID], ITEMS), OF_ALL, |call| {
        Box::pin(list(call))
    }),
    operation(Verb::Post, ALL, "Makes filters.", (WRITE, ITEMS), OF_ALL, |call| Box::pin(create(call))),
    operation(Verb::Put, ALL, "Changes filters.", (WRITE, ITEMS), OF_ALL, |call| {
        Box::pin(change_several(call))
    }),
    operation(Verb::Delete, ALL, "Deletes filters.", (&[DRY_RUN, ID], ITEMS), OF_ALL, |call| {
        Box::pin(delete_several(call))
    }),
    operation(Verb::Get, ONE, "Shows a filter.", (&[], ITEM), OF_ONE, |call| Box::pin(find(call))),
    operation(Verb::Put, ONE, "Changes a filter.", (WRITE, ITEM), OF_ONE, |call| Box::pin(change(call))),
    operation(Verb::Delete, ONE, "Deletes a filter.", (WRITE, ITEM), OF_ONE, |call| Box::pin(delete(call))),
];

/// A filter as it was shown.
#[derive(Debug, Serialize)]
pub(super) struct ShownFilter<'a> {
    id: &'a str,
    expression: &'a str,
    paused: bool,
    description: &'a str,
    r#ref: &'a str,
}

impl<'a> ShownFilter<'a> {
    pub(super) fn of(rule: &'a Rule) -> Self {
        Self {
            id: &rule.id,
            expression: &rule.expression,
            paused: !rule.enabled && !is_unused(rule),
            description: &rule.description,
            r#ref: if is_unused(rule) { "" } else { &rule.r#ref },
        }
    }
}

/// Whether a rule stands for a filter that no rule uses.
pub(super) fn is_unused(rule: &Rule) -> bool {
    !rule.enabled && rule.action == Action::Log && rule.r#ref.strip_prefix("filter-") == Some(&rule.id)
}

/// The rule that stands for a filter that no rule uses.
pub(super) fn unused(id: String, expression: String, description: String) -> Rule {
    let r#ref = format!("filter-{id}");
    Rule { id, r#ref, expression, description, enabled: false, ..Rule::new(Action::Log) }
}

fn find_rule<'r>(rules: &'r [Rule], id: &str) -> Result<&'r Rule, ApiErrors> {
    rules.iter().find(|rule| rule.id == id).ok_or_else(|| unknown("filter", id))
}

fn of_ids(rules: &[Rule], ids: &[String], passed: Vec<String>) -> Answer {
    let found = ids.iter().filter_map(|id| rules.iter().find(|rule| rule.id == *id));
    Ok(ApiReply::of(&found.map(ShownFilter::of).collect::<Vec<_>>())?.passing_over(passed))
}

async fn list(call: ApiCall) -> Answer {
    let (rules, ids) = (rules(&call, PHASE)?, asked_ids(&call));
    let asked = rules.iter().filter(|rule| ids.is_empty() || ids.contains(&rule.id));
    let (page, info) = call.paging(25, 100)?.of(asked.map(ShownFilter::of).collect());
    ApiReply::page(&page, info)
}

async fn find(call: ApiCall) -> Answer {
    let rules = rules(&call, PHASE)?;
    ApiReply::of(&ShownFilter::of(find_rule(&rules, call.parameter("filter_id"))?))
}

/// A filter as a body writes it.
#[derive(Clone, Debug)]
struct WrittenFilter {
    expression: String,
    description: Option<String>,
    paused: Option<bool>,
}

fn written(call: &ApiCall, fields: &Fields<'_>) -> Option<WrittenFilter> {
    fields.ignore(&["id", "ref", "created_on", "modified_on"]);
    let description = fields.text("description").map(str::to_owned);
    let paused = fields.bool("paused");
    Some(WrittenFilter { expression: expression(call, fields, "expression", PHASE)?, description, paused })
}

impl WrittenFilter {
    fn change(&self, rules: &mut [Rule], id: &str) -> Result<(), ApiErrors> {
        let rule = rules.iter_mut().find(|rule| rule.id == id).ok_or_else(|| unknown("filter", id))?;
        rule.expression.clone_from(&self.expression);
        if let Some(description) = &self.description {
            rule.description.clone_from(description);
        }
        if let Some(is_paused) = self.paused.filter(|_| !is_unused(rule)) {
            rule.enabled = !is_paused;
        }
        Ok(())
    }
}

async fn create(call: ApiCall) -> Answer {
    let (new, passed) = read_list(&call.body, |fields| written(&call, fields))?;
    let mut made = Vec::new();
    for filter in new {
        let id = with_new_id(Rule::new(Action::Log))?.id;
        made.push(unused(id, filter.expression, filter.description.unwrap_or_default()));
    }
    let ids: Vec<String> = made.iter().map(|rule| rule.id.clone()).collect();
    let rules = edit(&call, PHASE, move |rules| {
        rules.extend(made.iter().cloned());
        Ok(())
    });
    of_ids(&rules.await?, &ids, passed)
}

async fn change_several(call: ApiCall) -> Answer {
    let (changes, passed) = read_list(&call.body, |fields| {
        let id = fields.required_text("id")?.to_owned();
        Some((id, written(&call, fields)?))
    })?;
    let ids: Vec<String> = changes.iter().map(|(id, _)| id.clone()).collect();
    let rules =
        edit(&call, PHASE, move |rules| changes.iter().try_for_each(|(id, filter)| filter.change(rules, id)));
    of_ids(&rules.await?, &ids, passed)
}

async fn change(call: ApiCall) -> Answer {
    let (filter, passed) = rule_input::read(&call.body, |fields| written(&call, fields))?;
    let id = call.parameter("filter_id").to_owned();
    let of = id.clone();
    let rules = edit(&call, PHASE, move |rules| filter.change(rules, &of)).await?;
    Ok(ApiReply::of(&ShownFilter::of(find_rule(&rules, &id)?))?.passing_over(passed))
}

fn remove(rules: &mut Vec<Rule>, id: &str) -> Result<(), ApiErrors> {
    if !is_unused(find_rule(rules, id)?) {
        let message = format!("the firewall rule `{id}` uses the filter; delete the rule first");
        return Err(ApiError::new(error::CONFLICT, message).into());
    }
    rules.retain(|rule| rule.id != id);
    Ok(())
}

async fn delete(call: ApiCall) -> Answer {
    let id = call.parameter("filter_id").to_owned();
    let before = rules(&call, PHASE)?;
    let filter = find_rule(&before, &id)?;
    edit(&call, PHASE, move |rules| remove(rules, &id)).await?;
    ApiReply::of(&ShownFilter::of(filter))
}

async fn delete_several(call: ApiCall) -> Answer {
    let ids = asked_ids(&call);
    if ids.is_empty() {
        let message = "expected the filters to delete as `id=…`, repeated for several";
        return Err(ApiError::new(error::BAD_QUERY, message).into());
    }
    let (before, of) = (rules(&call, PHASE)?, ids.clone());
    edit(&call, PHASE, move |rules| of.iter().try_for_each(|id| remove(rules, id))).await?;
    of_ids(&before, &ids, Vec::new())
}
