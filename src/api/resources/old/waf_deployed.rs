//! A managed ruleset as a zone has it, in the words of WAF packages, groups and rules.

use std::sync::Arc;

use model::ruleset::{ActionParameters, Overrides, Rule, RuleOverride};
use model::{Action, RuleId};
use serde::Serialize;

use super::waf_packages::PHASE;
use super::zone_rules::unknown;
use crate::api::error::ApiErrors;
use crate::api::operation::ApiCall;
use crate::ruleset::{ManagedRule, ManagedRuleset};

#[derive(Debug, Serialize)]
pub(super) struct ShownWafPackage<'a> {
    id: &'a str,
    pub(super) name: &'a str,
    description: &'a str,
    zone_id: &'a str,
    detection_mode: &'static str,
    status: &'static str,
    sensitivity: &'static str,
    action_mode: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct ShownWafGroup<'a> {
    id: String,
    pub(super) name: &'a str,
    description: &'a str,
    rules_count: usize,
    modified_rules_count: usize,
    package_id: &'a str,
    pub(super) mode: &'static str,
    allowed_modes: [&'static str; 2],
}

#[derive(Debug, Serialize)]
pub(super) struct ShownWafRule<'a> {
    pub(super) id: &'a str,
    description: &'a str,
    priority: &'a str,
    group: Option<GroupReference<'a>>,
    package_id: &'a str,
    pub(super) mode: &'static str,
    allowed_modes: [&'static str; 2],
}

#[derive(Debug, Serialize)]
pub(super) struct GroupReference<'a> {
    id: String,
    name: &'a str,
}

pub(super) const SWITCH: [&str; 2] = ["on", "off"];

pub(super) fn switch(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

/// The sensitivities of a package, and the thresholds of scores that took their place (spec, "Managed rulesets").
pub(super) const SENSITIVITIES: [(&str, i64); 3] = [("high", 25), ("medium", 40), ("low", 60)];

/// The modes of a package, and the actions that took their place.
pub(super) const ACTION_MODES: [(&str, Action); 3] =
    [("simulate", Action::Log), ("block", Action::Block), ("challenge", Action::ManagedChallenge)];

/// A managed ruleset as a zone has it.
pub(super) struct Deployed {
    pub(super) managed: Arc<ManagedRuleset>,
    /// `None` if no rule of the zone executes it.
    pub(super) execute: Option<Rule>,
}

/// The id of a group, which is the same everywhere.
pub(super) fn group_id(package: &str, category: &str) -> String {
    RuleId::derived("waf group", &format!("{package}/{category}")).to_string()
}

/// The managed rulesets that were packages.
pub(super) fn packages(call: &ApiCall) -> impl Iterator<Item = &Arc<ManagedRuleset>> {
    call.snapshot.managed.iter().filter(|managed| managed.phase == PHASE)
}

/// The rule that executes a managed ruleset.
pub(super) fn execute_rule<'r>(rules: &'r [Rule], id: &str) -> Option<&'r Rule> {
    rules.iter().find(|rule| matches!(&rule.action_parameters, Some(ActionParameters::Execute(execute)) if execute.id == id))
}

impl Deployed {
    pub(super) fn of(call: &ApiCall, rules: &[Rule]) -> Result<Self, ApiErrors> {
        let id = call.parameter("package_id");
        let managed = packages(call).find(|managed| managed.id.as_str() == id);
        let managed = Arc::clone(managed.ok_or_else(|| unknown("WAF package", id))?);
        Ok(Self { execute: execute_rule(rules, id).cloned(), managed })
    }

    pub(super) fn overrides(&self) -> Option<&Overrides> {
        match &self.execute.as_ref()?.action_parameters {
            Some(ActionParameters::Execute(execute)) => execute.overrides.as_ref(),
            _ => None,
        }
    }

    pub(super) fn of_threshold(&self) -> Option<&RuleOverride> {
        let id = self.managed.threshold_rule()?.id.as_str();
        self.overrides()?.rules.iter().find(|rule| rule.id == id)
    }

    pub(super) fn is_on(&self) -> bool {
        self.execute.as_ref().is_some_and(|rule| rule.enabled)
            && self.overrides().and_then(|overrides| overrides.enabled) != Some(false)
    }

    pub(super) fn sensitivity(&self) -> &'static str {
        let by_default = self.managed.threshold_rule().and_then(|rule| rule.score_threshold);
        let threshold = self.of_threshold().and_then(|rule| rule.score_threshold).or(by_default).unwrap_or(0);
        let found = SENSITIVITIES.into_iter().find(|(_, most)| threshold <= *most);
        if self.is_on() { found.map_or("low", |(word, _)| word) } else { "off" }
    }

    pub(super) fn action_mode(&self) -> &'static str {
        let of_ruleset = self.overrides().and_then(|overrides| overrides.action);
        let action = self.of_threshold().and_then(|rule| rule.action).or(of_ruleset).unwrap_or(Action::Block);
        match action {
            Action::Log => "simulate",
            Action::Block => "block",
            _ => "challenge",
        }
    }

    pub(super) fn package<'a>(&'a self, call: &'a ApiCall) -> ShownWafPackage<'a> {
        ShownWafPackage {
            id: self.managed.id.as_str(),
            name: self.managed.name,
            description: self.managed.description,
            zone_id: call.parameter("zone_id"),
            detection_mode: "anomaly",
            status: "active",
            sensitivity: self.sensitivity(),
            action_mode: self.action_mode(),
        }
    }

    /// The categories of its rules, in their order.
    pub(super) fn categories(&self) -> Vec<&str> {
        let mut all: Vec<&str> =
            self.managed.rules.iter().flat_map(|rule| &rule.categories).map(String::as_str).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    pub(super) fn of_category(&self, category: &str) -> Option<bool> {
        let categories = &self.overrides()?.categories;
        categories.iter().rev().find(|known| known.category == category).and_then(|known| known.enabled)
    }

    pub(super) fn shown_group<'a>(&'a self, category: &'a str) -> ShownWafGroup<'a> {
        let package = self.managed.id.as_str();
        let rules: Vec<&ManagedRule> = self
            .managed
            .rules
            .iter()
            .filter(|rule| rule.categories.iter().any(|known| known == category))
            .collect();
        let is_modified = |rule: &&&ManagedRule| {
            let own = self.overrides().map(|overrides| overrides.rules.as_slice()).unwrap_or_default();
            own.iter().any(|known| known.id == rule.id.as_str())
        };
        ShownWafGroup {
            id: group_id(package, category),
            name: category,
            description: "",
            rules_count: rules.len(),
            modified_rules_count: rules.iter().filter(is_modified).count(),
            package_id: package,
            mode: switch(self.of_category(category) != Some(false)),
            allowed_modes: SWITCH,
        }
    }

    pub(super) fn category(&self, call: &ApiCall) -> Result<&str, ApiErrors> {
        let id = call.parameter("group_id");
        let package = self.managed.id.as_str();
        let mut categories = self.categories().into_iter();
        let found = categories.find(|category| group_id(package, category) == id);
        found.ok_or_else(|| unknown("WAF group", id))
    }

    pub(super) fn group(&self, call: &ApiCall) -> Result<ShownWafGroup<'_>, ApiErrors> {
        Ok(self.shown_group(self.category(call)?))
    }

    /// Whether a rule runs: what says so of itself, then of the last of its categories, then of all.
    pub(super) fn runs(&self, rule: &ManagedRule) -> bool {
        let Some(overrides) = self.overrides() else { return rule.enabled };
        let own = overrides.rules.iter().find(|known| known.id == rule.id.as_str());
        let of_category = overrides
            .categories
            .iter()
            .rev()
            .filter(|known| rule.categories.contains(&known.category))
            .find_map(|known| known.enabled);
        own.and_then(|own| own.enabled).or(of_category).or(overrides.enabled).unwrap_or(rule.enabled)
    }

    pub(super) fn shown_rule<'a>(&'a self, rule: &'a ManagedRule) -> ShownWafRule<'a> {
        let package = self.managed.id.as_str();
        let group = rule
            .categories
            .first()
            .map(|category| GroupReference { id: group_id(package, category), name: category });
        ShownWafRule {
            id: rule.id.as_str(),
            description: &rule.description,
            priority: &rule.reference,
            group,
            package_id: package,
            mode: switch(self.runs(rule)),
            allowed_modes: SWITCH,
        }
    }

    pub(super) fn rule(&self, call: &ApiCall) -> Result<ShownWafRule<'_>, ApiErrors> {
        let id = call.parameter("rule_id");
        let found = self.managed.rules.iter().find(|rule| rule.id.as_str() == id);
        found.map(|rule| self.shown_rule(rule)).ok_or_else(|| unknown("WAF rule", id))
    }
}

/// Changes the overrides of a rule that executes a ruleset.
pub(super) fn with_overrides(rule: &mut Rule, change: impl FnOnce(&mut Overrides)) {
    if let Some(ActionParameters::Execute(execute)) = &mut rule.action_parameters {
        let mut overrides = execute.overrides.take().unwrap_or_default();
        change(&mut overrides);
        execute.overrides = (overrides != Overrides::default()).then_some(overrides);
    }
}

/// The override of a rule among others, made if it is missing.
pub(super) fn override_of<'o>(overrides: &'o mut Overrides, id: &str) -> &'o mut RuleOverride {
    let found = overrides.rules.iter().position(|rule| rule.id == id);
    let at = found.unwrap_or_else(|| {
        overrides.rules.push(RuleOverride { id: id.to_owned(), ..RuleOverride::default() });
        overrides.rules.len() - 1
    });
    // INVARIANT: `at` was found or has just been added.
    #[expect(clippy::indexing_slicing, reason = "it is there")]
    &mut overrides.rules[at]
}
