//! Firewall rules: custom rules with a filter, which is their expression.

use model::ruleset::{ActionParameters, Rule, SkipParameters};
use model::{Action, Phase};
use serde::Serialize;

use super::filters::{self, ShownFilter};
use super::shapes;
use super::zone_rules::{self, edit, expression, read_list, rules, unknown, with_rules_left_out};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Kind, Operation, PAGE, PER_PAGE, QueryParameter, ResultKind,
    Running, Verb,
};
use crate::api::resources::rule_input;

const PHASE: Phase = Phase::HttpRequestFirewallCustom;
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

const fn operation(
    verb: Verb,
    path: &'static str,
    summary: &'static str,
    (query, is_list): (&'static [QueryParameter], bool),
    run: fn(ApiCall) -> Running,
) -> Operation {
    let permission = match verb {
        Verb::Get => Permission::WafRead,
        _ => Permission::WafWrite,
    };
    let input = match verb {
        Verb::Get | Verb::Delete => None,
        _ if is_list => Some(InputShape::List(shapes::FIREWALL_RULE)),
        _ => Some(InputShape::Object(shapes::FIREWALL_RULE)),
    };
    let output = match is_list {
        true => ResultKind::List(shapes::FIREWALL_RULE),
        false => ResultKind::One(shapes::FIREWALL_RULE),
    };
    Operation { verb, path, summary, permission, query, input, output, run }
}

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    operation(Verb::Get, ALL, "Lists firewall rules.", (LIST, true), |call| Box::pin(list(call))),
    operation(Verb::Post, ALL, "Makes firewall rules.", (&[DRY_RUN], true), |call| Box::pin(create(call))),
    operation(Verb::Put, ALL, "Replaces firewall rules.", (&[DRY_RUN], true), |call| {
        Box::pin(change_several(call, true))
    }),
    operation(Verb::Patch, ALL, "Changes firewall rules.", (&[DRY_RUN], true), |call| {
        Box::pin(change_several(call, false))
    }),
    operation(Verb::Delete, ALL, "Deletes firewall rules.", (&[DRY_RUN, ID, WITH_FILTER], true), |call| {
        Box::pin(delete_several(call))
    }),
    operation(Verb::Get, ONE, "Shows a firewall rule.", (&[], false), |call| Box::pin(find(call))),
    operation(Verb::Put, ONE, "Replaces a firewall rule.", (&[DRY_RUN], false), |call| {
        Box::pin(change(call, true))
    }),
    operation(Verb::Patch, ONE, "Changes a firewall rule.", (&[DRY_RUN], false), |call| {
        Box::pin(change(call, false))
    }),
    operation(Verb::Delete, ONE, "Deletes a firewall rule.", (&[DRY_RUN, WITH_FILTER], false), |call| {
        Box::pin(delete(call))
    }),
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

/// A firewall rule. Its priority is its place.
#[derive(Debug, Serialize)]
pub(super) struct ShownFirewallRule<'a> {
    id: &'a str,
    paused: bool,
    description: &'a str,
    action: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    products: Vec<&'static str>,
    priority: usize,
    filter: ShownFilter<'a>,
    r#ref: &'a str,
    created_on: &'a str,
    modified_on: &'a str,
}

/// What firewall rules could pass over, and the phases of it.
const PRODUCTS: [(&str, Phase); 2] =
    [("rateLimit", Phase::HttpRatelimit), ("waf", Phase::HttpRequestFirewallManaged)];

/// The old action of a rule, with the products that it passes over; `None` if there were no words for it.
fn old_action(rule: &Rule) -> Option<(&'static str, Vec<&'static str>)> {
    match (rule.action, &rule.action_parameters) {
        (Action::Skip, Some(ActionParameters::Skip(skip))) => {
            if !skip.rulesets.is_empty() || !skip.rules.is_empty() {
                return None;
            }
            let product =
                |phase: &Phase| PRODUCTS.iter().find(|(_, known)| known == phase).map(|(word, _)| *word);
            let products: Option<Vec<&str>> = skip.phases.iter().map(product).collect();
            match (skip.ruleset.as_deref(), products?) {
                (Some("current"), products) if products.is_empty() => Some(("allow", products)),
                (None, products) if !products.is_empty() => Some(("bypass", products)),
                _ => None,
            }
        }
        (
            Action::Block | Action::Challenge | Action::JsChallenge | Action::ManagedChallenge | Action::Log,
            _,
        ) => Some((rule.action.word(), Vec::new())),
        _ => None,
    }
}

fn shown(rules: &[Rule], nth: usize) -> Option<ShownFirewallRule<'_>> {
    let rule = rules.get(nth).filter(|rule| !filters::is_unused(rule))?;
    let (action, products) = old_action(rule)?;
    Some(ShownFirewallRule {
        id: &rule.id,
        paused: !rule.enabled,
        description: &rule.description,
        action,
        products,
        priority: nth + 1,
        filter: ShownFilter::of(rule),
        r#ref: &rule.r#ref,
        created_on: &rule.last_updated,
        modified_on: &rule.last_updated,
    })
}

fn place(rules: &[Rule], id: &str) -> Result<usize, ApiErrors> {
    let found = rules.iter().position(|rule| rule.id == id && !filters::is_unused(rule));
    found.filter(|nth| shown(rules, *nth).is_some()).ok_or_else(|| unknown("firewall rule", id))
}

async fn list(call: ApiCall) -> Answer {
    let rules = rules(&call, PHASE)?;
    let all: Vec<ShownFirewallRule<'_>> = (0..rules.len()).filter_map(|nth| shown(&rules, nth)).collect();
    let unused = rules.iter().filter(|rule| filters::is_unused(rule)).count();
    let left_out = rules.len() - all.len() - unused;
    let ids: Vec<&str> =
        call.query.iter().filter(|(name, _)| name == "id").map(|(_, id)| id.as_str()).collect();
    let is_asked = |rule: &ShownFirewallRule<'_>| {
        call.asked("action").is_none_or(|action| rule.action == action)
            && call
                .asked("description")
                .is_none_or(|text| rule.description.to_lowercase().contains(&text.to_lowercase()))
            && call.asked("paused").is_none_or(|paused| rule.paused.to_string() == paused)
            && (ids.is_empty() || ids.contains(&rule.id))
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

/// A firewall rule as a body writes it.
#[derive(Clone, Debug)]
struct WrittenRule {
    filter: Option<WrittenFilter>,
    action: Option<(Action, Option<ActionParameters>)>,
    description: Option<String>,
    paused: Option<bool>,
    priority: Option<usize>,
    r#ref: Option<String>,
}

#[derive(Clone, Debug)]
enum WrittenFilter {
    /// One that there is.
    Known(String),
    New(String),
}

fn written(call: &ApiCall, fields: &Fields<'_>) -> Option<WrittenRule> {
    fields.ignore(&["id", "created_on", "modified_on", "index"]);
    let mut filter_paused = None;
    let filter = fields.object("filter").and_then(|filter| {
        filter.ignore(&["description", "ref", "created_on", "modified_on"]);
        filter_paused = filter.bool("paused");
        match (filter.text("expression"), filter.text("id")) {
            (None, Some(id)) => Some(WrittenFilter::Known(id.to_owned())),
            _ => expression(call, &filter, "expression", PHASE).map(WrittenFilter::New),
        }
    });
    let paused = match (fields.bool("paused"), filter_paused) {
        (None, None) => None,
        (rule, filter) => Some(rule == Some(true) || filter == Some(true)),
    };
    Some(WrittenRule {
        action: action(fields),
        filter,
        description: fields.text("description").map(str::to_owned),
        paused,
        priority: fields
            .within("priority", 0..=2_147_483_647)
            .and_then(|priority| usize::try_from(priority).ok()),
        r#ref: fields.text("ref").map(str::to_owned),
    })
}

fn action(fields: &Fields<'_>) -> Option<(Action, Option<ActionParameters>)> {
    let products = fields.texts("products").unwrap_or_default();
    let skip = |skip| Some((Action::Skip, Some(ActionParameters::Skip(skip))));
    match fields.text("action")? {
        "allow" => skip(SkipParameters { ruleset: Some("current".to_owned()), ..SkipParameters::default() }),
        "bypass" => {
            if products.is_empty() {
                fields.refuse(
                    error::BAD_ACTION,
                    "products",
                    "`bypass` needs `products`: `waf` or `rateLimit`",
                );
            }
            let phase = |(nth, word): (usize, &String)| {
                let found = PRODUCTS.iter().find(|(known, _)| known == word).map(|(_, phase)| *phase);
                if found.is_none() {
                    let message = format!("expected `waf` or `rateLimit`, found `{word:.40}`");
                    fields.refuse(error::BAD_ACTION, &format!("products/{nth}"), message);
                }
                found
            };
            let phases = products.iter().enumerate().filter_map(phase).collect();
            skip(SkipParameters { phases, ..SkipParameters::default() })
        }
        word => match Action::parse(word).filter(|action| action.ends_requests() || *action == Action::Log) {
            Some(action) => Some((action, None)),
            None => {
                let message = format!(
                    "expected one of `block`, `challenge`, `js_challenge`, `managed_challenge`, `allow`, `log` and \
                     `bypass`, found `{word:.40}`"
                );
                fields.refuse(error::BAD_ACTION, "action", message);
                None
            }
        },
    }
}

impl WrittenRule {
    /// The rule that it makes of another. What it does not say stays.
    fn over(&self, known: Rule, rules: &[Rule]) -> Result<Rule, ApiErrors> {
        let expression = match &self.filter {
            None => known.expression.clone(),
            Some(WrittenFilter::New(expression)) => expression.clone(),
            Some(WrittenFilter::Known(id)) => {
                let found = rules.iter().find(|rule| rule.id == *id);
                found.ok_or_else(|| unknown("filter", id))?.expression.clone()
            }
        };
        let (action, action_parameters) = match &self.action {
            // The answer of a `block` is none of the old form's business.
            Some((action, None)) if *action == known.action => (*action, known.action_parameters.clone()),
            Some((action, parameters)) => (*action, parameters.clone()),
            None => (known.action, known.action_parameters.clone()),
        };
        Ok(Rule {
            expression,
            action,
            action_parameters,
            description: self.description.clone().unwrap_or(known.description),
            enabled: self.paused.map_or(known.enabled, |is_paused| !is_paused),
            r#ref: self.r#ref.clone().unwrap_or(known.r#ref),
            ..known
        })
    }

    /// Puts a rule where its priority says.
    fn insert(&self, rules: &mut Vec<Rule>, rule: Rule, default: usize) {
        let place = self.priority.map_or(default, |priority| priority.saturating_sub(1));
        rules.insert(place.min(rules.len()), rule);
    }

    /// Adds it to rules, and returns its id. A filter that no rule uses becomes the rule.
    fn add(&self, rules: &mut Vec<Rule>) -> Result<String, ApiErrors> {
        let unused = match &self.filter {
            Some(WrittenFilter::Known(id)) => {
                rules.iter().position(|rule| rule.id == *id && filters::is_unused(rule))
            }
            _ => None,
        };
        let fresh = match unused {
            Some(nth) => {
                let filter = rules.remove(nth);
                Rule { r#ref: filter.id.clone(), enabled: true, ..filter }
            }
            None => zone_rules::with_new_id(Rule::new(Action::Log))?,
        };
        let (id, last) = (fresh.id.clone(), rules.len());
        // A filter that became the rule is no longer among the others.
        let filter = match (&self.filter, unused) {
            (Some(WrittenFilter::Known(_)), Some(_)) => None,
            (filter, _) => filter.clone(),
        };
        let rule = Self { filter, ..self.clone() }.over(fresh, rules)?;
        self.insert(rules, rule, last);
        Ok(id)
    }

    fn change(&self, rules: &mut Vec<Rule>, id: &str) -> Result<(), ApiErrors> {
        let nth = place(rules, id)?;
        let changed =
            self.over(rules.get(nth).cloned().ok_or_else(|| unknown("firewall rule", id))?, rules)?;
        rules.remove(nth);
        self.insert(rules, changed, nth);
        Ok(())
    }

    /// Refuses a whole rule that lacks what it needs.
    fn check_whole(&self, fields: &Fields<'_>) {
        if self.action.is_none() && fields.value("action").is_none() {
            fields.refuse(error::BAD_ACTION, "action", "`action` is required, such as `block`");
        }
        if self.filter.is_none() && fields.value("filter").is_none() {
            fields.refuse(error::BAD_FIELD, "filter", "`filter` is required: `id` or `expression`");
        }
    }
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

/// Whether filters go with their rules, which a body could say too.
fn with_filter(call: &ApiCall) -> Result<bool, ApiErrors> {
    match call.asked("delete_filter_if_unused") {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => {
            let message =
                format!("expected `true` or `false` for `delete_filter_if_unused`, found `{other:.40}`");
            Err(ApiError::new(error::BAD_QUERY, message).into())
        }
    }
}

async fn delete(call: ApiCall) -> Answer {
    let (id, with_filter) = (call.parameter("rule_id").to_owned(), with_filter(&call)?);
    let before = rules(&call, PHASE)?;
    let nth = place(&before, &id)?;
    edit(&call, PHASE, move |rules| remove(rules, &id, with_filter)).await?;
    ApiReply::of(&shown(&before, nth))
}

async fn delete_several(call: ApiCall) -> Answer {
    let ids: Vec<String> =
        call.query.iter().filter(|(name, _)| name == "id").map(|(_, id)| id.clone()).collect();
    if ids.is_empty() {
        let message = "expected the rules to delete as `id=…`, repeated for several";
        return Err(ApiError::new(error::BAD_QUERY, message).into());
    }
    let (before, with_filter) = (rules(&call, PHASE)?, with_filter(&call)?);
    let of = ids.clone();
    edit(&call, PHASE, move |rules| of.iter().try_for_each(|id| remove(rules, id, with_filter))).await?;
    of_ids(&before, &ids, Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_read_back() {
        for action in
            [Action::Block, Action::Challenge, Action::JsChallenge, Action::ManagedChallenge, Action::Log]
        {
            assert_eq!(old_action(&Rule::new(action)).unwrap().0, action.word());
        }
        let skip =
            |skip| Rule { action_parameters: Some(ActionParameters::Skip(skip)), ..Rule::new(Action::Skip) };
        let current = SkipParameters { ruleset: Some("current".to_owned()), ..SkipParameters::default() };
        assert_eq!(old_action(&skip(current.clone())), Some(("allow", vec![])));
        let phases = SkipParameters {
            phases: vec![Phase::HttpRequestFirewallManaged, Phase::HttpRatelimit],
            ..SkipParameters::default()
        };
        assert_eq!(old_action(&skip(phases.clone())), Some(("bypass", vec!["waf", "rateLimit"])));
        let both = SkipParameters { phases: phases.phases, ..current };
        assert_eq!(old_action(&skip(both)), None, "there were no words for both");
        let other = SkipParameters { phases: vec![Phase::HttpRequestTransform], ..SkipParameters::default() };
        assert_eq!(old_action(&skip(other)), None);
        assert_eq!(old_action(&Rule::new(Action::Execute)), None);
    }
}
