//! WAF overrides: managed rules that are off for some URLs, which are `skip` rules before those that execute managed
//! rulesets.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::ruleset::{ActionParameters, Rule, SkipParameters};
use model::{Action, Phase, RuleId};
use serde::Serialize;

use super::operation::{PAGES, WRITE, operation};
use super::shapes;
use super::url_pattern::{condition, pattern};
use super::zone_rules::{edit, rules, unknown, with_new_id};
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::{Answer, ApiCall, InputShape, Operation, ResultKind, Verb};
use crate::api::resources::accounts::Deleted;
use crate::api::resources::{rule_input, shapes as common};
use crate::ruleset::ManagedRuleset;

const PHASE: Phase = Phase::HttpRequestFirewallManaged;
const ALL: &str = "/zones/{zone_id}/firewall/waf/overrides";
const ONE: &str = "/zones/{zone_id}/firewall/waf/overrides/{override_id}";

const OF_ONE: ResultKind = ResultKind::One(shapes::WAF_OVERRIDE);
const BODY: InputShape = InputShape::Object(shapes::WAF_OVERRIDE);

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    operation(
        Verb::Get,
        ALL,
        "Lists WAF overrides.",
        (PAGES, BODY),
        ResultKind::List(shapes::WAF_OVERRIDE),
        |call| Box::pin(list(call)),
    ),
    operation(Verb::Post, ALL, "Makes a WAF override.", (WRITE, BODY), OF_ONE, |call| Box::pin(create(call))),
    operation(Verb::Get, ONE, "Shows a WAF override.", (&[], BODY), OF_ONE, |call| Box::pin(find(call))),
    operation(Verb::Put, ONE, "Replaces a WAF override.", (WRITE, BODY), OF_ONE, |call| {
        Box::pin(replace(call))
    }),
    operation(
        Verb::Delete,
        ONE,
        "Deletes a WAF override.",
        (WRITE, BODY),
        ResultKind::One(common::DELETED),
        |call| Box::pin(delete(call)),
    ),
];

/// An override in its old form.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct OldOverride {
    id: String,
    description: String,
    urls: Vec<String>,
    /// Ids of managed rules, and `disable`.
    rules: BTreeMap<String, &'static str>,
    paused: bool,
}

/// What a rule is that is off.
const DISABLE: &str = "disable";

fn expression(urls: &[String]) -> String {
    let conditions: Option<Vec<String>> = urls.iter().map(|url| condition(url)).collect();
    conditions.map_or_else(|| "true".to_owned(), |conditions| conditions.join(" or "))
}

/// What `expression` was written from.
fn parsed(text: &str) -> Option<Vec<String>> {
    if text == "true" {
        return Some(vec!["*".to_owned()]);
    }
    let (mut urls, mut rest) = (Vec::new(), text);
    loop {
        // The shortest start that is a condition: quotes and brackets in it are its own.
        let ends = rest.match_indices(')').map(|(at, _)| at + 1);
        let (url, end) = ends.filter_map(|end| Some((pattern(rest.get(..end)?)?, end))).next()?;
        urls.push(url);
        rest = rest.get(end..)?;
        if rest.is_empty() {
            break;
        }
        rest = rest.strip_prefix(" or ")?;
    }
    (expression(&urls) == text).then_some(urls)
}

/// The old form of a rule; `None` if it has none.
fn old(rule: &Rule) -> Option<OldOverride> {
    let (Action::Skip, Some(ActionParameters::Skip(skip))) = (rule.action, &rule.action_parameters) else {
        return None;
    };
    let is_plain = skip.ruleset.is_none() && skip.rulesets.is_empty() && skip.phases.is_empty();
    let ids = skip.rules.values().flatten().map(|id| (id.clone(), DISABLE));
    let rules: BTreeMap<String, &str> = ids.collect();
    (is_plain && !rules.is_empty()).then_some(())?;
    Some(OldOverride {
        id: rule.id.clone(),
        description: rule.description.clone(),
        urls: parsed(&rule.expression)?,
        rules,
        paused: !rule.enabled,
    })
}

/// The managed rulesets that rules of an override can be of.
fn managed(call: &ApiCall) -> Vec<Arc<ManagedRuleset>> {
    call.snapshot.managed.iter().filter(|managed| managed.phase == PHASE).map(Arc::clone).collect()
}

/// The rule that an override is, in the place of another.
fn rule(old: &OldOverride, managed: &[Arc<ManagedRuleset>], known: Rule) -> Rule {
    let mut rules: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for id in old.rules.keys() {
        let of = managed.iter().find(|managed| managed.rules.iter().any(|rule| rule.id.as_str() == id));
        if let Some(of) = of {
            rules.entry(of.id.to_string()).or_default().push(id.clone());
        }
    }
    Rule {
        action: Action::Skip,
        action_parameters: Some(ActionParameters::Skip(SkipParameters {
            rules,
            ..SkipParameters::default()
        })),
        description: old.description.clone(),
        expression: expression(&old.urls),
        enabled: !old.paused,
        ..known
    }
}

fn written(fields: &Fields<'_>, managed: &[Arc<ManagedRuleset>]) -> Option<OldOverride> {
    fields.ignore(&["id", "priority", "rewrite_action"]);
    let urls = fields.texts("urls").unwrap_or_default();
    if urls.is_empty() {
        fields.refuse(
            error::BAD_OVERRIDE,
            "urls",
            "`urls` is required: patterns such as `example.com/upload*`",
        );
    }
    let all = || managed.iter().flat_map(|managed| managed.rules.iter().map(move |rule| (managed, rule)));
    let mut rules = BTreeMap::new();
    let mut read = |name: &'static str, of: &dyn Fn(&str) -> Vec<String>| {
        let Some(object) = fields.value(name) else { return };
        for (id, action) in object.as_object().into_iter().flatten() {
            let pointer = format!("{name}/{id:.60}");
            let found = of(id);
            if found.is_empty() {
                fields.refuse(
                    error::BAD_OVERRIDE,
                    &pointer,
                    format!("there is no managed rule or group `{id:.60}`"),
                );
            }
            match action.as_str() {
                Some(DISABLE) => rules.extend(found.into_iter().map(|id| (id, DISABLE))),
                Some("default") => {}
                _ => fields.refuse(
                    error::BAD_OVERRIDE,
                    &pointer,
                    "expected `disable` or `default`: actions of single rules are overrides of a rule that executes \
                     the ruleset",
                ),
            }
        }
    };
    read("rules", &|id| {
        all().filter(|(_, rule)| rule.id.as_str() == id).map(|(_, rule)| rule.id.to_string()).collect()
    });
    read("groups", &|id| {
        let of_group = all().filter(|(managed, rule)| {
            let key = |category: &String| format!("{}/{category}", managed.id);
            rule.categories.iter().any(|category| RuleId::derived("waf group", &key(category)).as_str() == id)
        });
        of_group.map(|(_, rule)| rule.id.to_string()).collect()
    });
    if rules.is_empty() && fields.value("rules").is_none() && fields.value("groups").is_none() {
        fields.refuse(
            error::BAD_OVERRIDE,
            "rules",
            "expected `rules` or `groups` with what is to be `disable`",
        );
    }
    Some(OldOverride {
        id: String::new(),
        description: fields.text("description").unwrap_or("").to_owned(),
        urls,
        rules,
        paused: fields.bool("paused").unwrap_or(false),
    })
}

fn find_rule(rules: &[Rule], id: &str) -> Result<OldOverride, ApiErrors> {
    let found = rules.iter().find(|rule| rule.id == id).and_then(old);
    found.ok_or_else(|| unknown("WAF override", id))
}

async fn list(call: ApiCall) -> Answer {
    let rules = rules(&call, PHASE)?;
    let (page, info) = call.paging(50, 1_000)?.of(rules.iter().filter_map(old).collect());
    ApiReply::page(&page, info)
}

async fn find(call: ApiCall) -> Answer {
    ApiReply::of(&find_rule(&rules(&call, PHASE)?, call.parameter("override_id"))?)
}

async fn create(call: ApiCall) -> Answer {
    let managed = managed(&call);
    let (new, passed) = rule_input::read(&call.body, |fields| written(fields, &managed))?;
    let added = rule(&new, &managed, with_new_id(Rule::new(Action::Skip))?);
    let id = added.id.clone();
    let rules = edit(&call, PHASE, move |rules| {
        let first = rules.iter().position(|rule| rule.action == Action::Execute);
        rules.insert(first.unwrap_or(rules.len()), added.clone());
        Ok(())
    })
    .await?;
    Ok(ApiReply::of(&find_rule(&rules, &id)?)?.passing_over(passed))
}

async fn replace(call: ApiCall) -> Answer {
    let managed = managed(&call);
    let (new, passed) = rule_input::read(&call.body, |fields| written(fields, &managed))?;
    let id = call.parameter("override_id").to_owned();
    let of = id.clone();
    let rules = edit(&call, PHASE, move |rules| {
        let known = rules.iter_mut().find(|rule| rule.id == of && old(rule).is_some());
        let known = known.ok_or_else(|| unknown("WAF override", &of))?;
        *known = rule(&new, &managed, known.clone());
        Ok(())
    })
    .await?;
    Ok(ApiReply::of(&find_rule(&rules, &id)?)?.passing_over(passed))
}

async fn delete(call: ApiCall) -> Answer {
    let id = call.parameter("override_id").to_owned();
    let of = id.clone();
    edit(&call, PHASE, move |rules| {
        find_rule(rules, &of)?;
        rules.retain(|rule| rule.id != of);
        Ok(())
    })
    .await?;
    ApiReply::of(&Deleted { id: &id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_back() {
        for urls in [vec!["*"], vec!["example.com/a*"], vec!["example.com/a) or (b", "*/c\"d", "e.example"]] {
            let urls: Vec<String> = urls.into_iter().map(str::to_owned).collect();
            assert_eq!(parsed(&expression(&urls)), Some(urls.clone()), "{urls:?}");
        }
        for other in ["ssl", "(ssl)", "(http.host wildcard \"a\") and ssl", "", ")"] {
            assert_eq!(parsed(other), None, "{other}");
        }
    }
}
