//! A firewall rule in its old form, as a custom rule, and back.

use model::ruleset::{ActionParameters, Rule, SkipParameters};
use model::{Action, Phase};
use serde::Serialize;

use super::filters::{self, ShownFilter};
use super::firewall_rules::PHASE;
use super::zone_rules::{self, expression, unknown};
use crate::api::error::{self, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::ApiCall;

/// A firewall rule. Its priority is its place.
#[derive(Debug, Serialize)]
pub(super) struct ShownFirewallRule<'a> {
    pub(super) id: &'a str,
    pub(super) paused: bool,
    pub(super) description: &'a str,
    pub(super) action: &'static str,
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

pub(super) fn shown(rules: &[Rule], nth: usize) -> Option<ShownFirewallRule<'_>> {
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

pub(super) fn place(rules: &[Rule], id: &str) -> Result<usize, ApiErrors> {
    let found = rules.iter().position(|rule| rule.id == id && !filters::is_unused(rule));
    found.filter(|nth| shown(rules, *nth).is_some()).ok_or_else(|| unknown("firewall rule", id))
}

/// A firewall rule as a body writes it.
#[derive(Clone, Debug)]
pub(super) struct WrittenRule {
    filter: Option<ChosenFilter>,
    action: Option<(Action, Option<ActionParameters>)>,
    description: Option<String>,
    paused: Option<bool>,
    priority: Option<usize>,
    r#ref: Option<String>,
}

#[derive(Clone, Debug)]
enum ChosenFilter {
    /// One that there is.
    Known(String),
    New(String),
}

pub(super) fn written(call: &ApiCall, fields: &Fields<'_>) -> Option<WrittenRule> {
    fields.ignore(&["id", "created_on", "modified_on", "index"]);
    let mut filter_paused = None;
    let filter = fields.object("filter").and_then(|filter| {
        filter.ignore(&["description", "ref", "created_on", "modified_on"]);
        filter_paused = filter.bool("paused");
        match (filter.text("expression"), filter.text("id")) {
            (None, Some(id)) => Some(ChosenFilter::Known(id.to_owned())),
            _ => expression(call, &filter, "expression", PHASE).map(ChosenFilter::New),
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
            Some(ChosenFilter::New(expression)) => expression.clone(),
            Some(ChosenFilter::Known(id)) => {
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
    pub(super) fn add(&self, rules: &mut Vec<Rule>) -> Result<String, ApiErrors> {
        let unused = rules.iter().position(|rule| {
            let is_named = matches!(&self.filter, Some(ChosenFilter::Known(id)) if *id == rule.id);
            is_named && filters::is_unused(rule)
        });
        let fresh = match unused.and_then(|nth| rules.get(nth)) {
            Some(filter) => Rule { r#ref: filter.id.clone(), enabled: true, ..filter.clone() },
            None => zone_rules::with_new_id(Rule::new(Action::Log))?,
        };
        let rule = self.over(fresh, rules)?;
        if let Some(nth) = unused {
            rules.remove(nth);
        }
        let (id, last) = (rule.id.clone(), rules.len());
        self.insert(rules, rule, last);
        Ok(id)
    }

    pub(super) fn change(&self, rules: &mut Vec<Rule>, id: &str) -> Result<(), ApiErrors> {
        let nth = place(rules, id)?;
        let changed =
            self.over(rules.get(nth).cloned().ok_or_else(|| unknown("firewall rule", id))?, rules)?;
        rules.remove(nth);
        self.insert(rules, changed, nth);
        Ok(())
    }

    /// Refuses a whole rule that lacks what it needs.
    pub(super) fn check_whole(&self, fields: &Fields<'_>) {
        if self.action.is_none() && fields.value("action").is_none() {
            fields.refuse(error::BAD_ACTION, "action", "`action` is required, such as `block`");
        }
        if self.filter.is_none() && fields.value("filter").is_none() {
            fields.refuse(error::BAD_FIELD, "filter", "`filter` is required: `id` or `expression`");
        }
    }
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
