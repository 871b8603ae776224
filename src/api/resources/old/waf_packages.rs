//! WAF packages with their groups and rules: managed rulesets with their categories and rules, as the first rule of the
//! zone's entry point that executes one has them.

use std::sync::Arc;

use model::ruleset::{ActionParameters, CategoryOverride, ExecuteParameters, Overrides, Rule, RuleOverride};
use model::{Action, Phase, RuleId};
use serde::Serialize;

use super::shapes;
use super::zone_rules::{edit, rules, unknown, with_new_id};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiErrors};
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Kind, Operation, PAGE, PER_PAGE, QueryParameter, ResultKind,
    Running, Verb,
};
use crate::api::resources::rule_input;
use crate::ruleset::{ManagedRule, ManagedRuleset};

const PHASE: Phase = Phase::HttpRequestFirewallManaged;
const PACKAGE: &str = "/zones/{zone_id}/firewall/waf/packages/{package_id}";
const GROUP: &str = "/zones/{zone_id}/firewall/waf/packages/{package_id}/groups/{group_id}";
const RULE: &str = "/zones/{zone_id}/firewall/waf/packages/{package_id}/rules/{rule_id}";

const fn operation(
    verb: Verb,
    path: &'static str,
    summary: &'static str,
    output: ResultKind,
    run: fn(ApiCall) -> Running,
) -> Operation {
    let (permission, input) = match verb {
        Verb::Get => (Permission::WafRead, None),
        _ => (Permission::WafWrite, Some(InputShape::Object(shapes::WAF_MODE))),
    };
    let query: &[QueryParameter] = match (verb, output) {
        (Verb::Get, ResultKind::List(_)) => LIST,
        (Verb::Get, _) => &[],
        _ => &[DRY_RUN],
    };
    Operation { verb, path, summary, permission, query, input, output, run }
}

const LIST: &[QueryParameter] = &[
    PAGE,
    PER_PAGE,
    QueryParameter { name: "name", kind: Kind::Text, doc: "Only those of this name." },
    QueryParameter { name: "group_id", kind: Kind::Text, doc: "Only rules of this group." },
    QueryParameter { name: "mode", kind: Kind::Text, doc: "Only those that are `on` or `off`." },
];
const OF_PACKAGE: ResultKind = ResultKind::One(shapes::WAF_PACKAGE);
const OF_GROUP: ResultKind = ResultKind::One(shapes::WAF_GROUP);
const OF_RULE: ResultKind = ResultKind::One(shapes::WAF_RULE);

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    operation(
        Verb::Get,
        "/zones/{zone_id}/firewall/waf/packages",
        "Lists WAF packages.",
        ResultKind::List(shapes::WAF_PACKAGE),
        |call| Box::pin(list(call)),
    ),
    operation(Verb::Get, PACKAGE, "Shows a WAF package.", OF_PACKAGE, |call| {
        Box::pin(async move {
            let deployed = Deployed::of(&call, &rules(&call, PHASE)?)?;
            ApiReply::of(&deployed.package(&call))
        })
    }),
    operation(Verb::Patch, PACKAGE, "Changes a WAF package.", OF_PACKAGE, |call| {
        Box::pin(change_package(call))
    }),
    operation(
        Verb::Get,
        "/zones/{zone_id}/firewall/waf/packages/{package_id}/groups",
        "Lists the groups of a WAF package.",
        ResultKind::List(shapes::WAF_GROUP),
        |call| Box::pin(groups(call)),
    ),
    operation(Verb::Get, GROUP, "Shows a group of a WAF package.", OF_GROUP, |call| {
        Box::pin(async move {
            let deployed = Deployed::of(&call, &rules(&call, PHASE)?)?;
            ApiReply::of(&deployed.group(&call)?)
        })
    }),
    operation(Verb::Patch, GROUP, "Switches a group of a WAF package.", OF_GROUP, |call| {
        Box::pin(change_group(call))
    }),
    operation(
        Verb::Get,
        "/zones/{zone_id}/firewall/waf/packages/{package_id}/rules",
        "Lists the rules of a WAF package.",
        ResultKind::List(shapes::WAF_RULE),
        |call| Box::pin(rules_of_package(call)),
    ),
    operation(Verb::Get, RULE, "Shows a rule of a WAF package.", OF_RULE, |call| {
        Box::pin(async move {
            let deployed = Deployed::of(&call, &rules(&call, PHASE)?)?;
            ApiReply::of(&deployed.rule(&call)?)
        })
    }),
    operation(Verb::Patch, RULE, "Switches a rule of a WAF package.", OF_RULE, |call| {
        Box::pin(change_rule(call))
    }),
];

#[derive(Debug, Serialize)]
struct ShownPackage<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    zone_id: &'a str,
    detection_mode: &'static str,
    status: &'static str,
    sensitivity: &'static str,
    action_mode: &'static str,
}

#[derive(Debug, Serialize)]
struct ShownGroup<'a> {
    id: String,
    name: &'a str,
    description: &'a str,
    rules_count: usize,
    modified_rules_count: usize,
    package_id: &'a str,
    mode: &'static str,
    allowed_modes: [&'static str; 2],
}

#[derive(Debug, Serialize)]
struct ShownRule<'a> {
    id: &'a str,
    description: &'a str,
    priority: &'a str,
    group: Option<GroupReference<'a>>,
    package_id: &'a str,
    mode: &'static str,
    allowed_modes: [&'static str; 2],
}

#[derive(Debug, Serialize)]
struct GroupReference<'a> {
    id: String,
    name: &'a str,
}

const SWITCH: [&str; 2] = ["on", "off"];

fn switch(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

/// The sensitivities of a package, and the thresholds of scores that took their place (spec, "Managed rulesets").
const SENSITIVITIES: [(&str, i64); 3] = [("high", 25), ("medium", 40), ("low", 60)];

/// The modes of a package, and the actions that took their place.
const ACTION_MODES: [(&str, Action); 3] =
    [("simulate", Action::Log), ("block", Action::Block), ("challenge", Action::ManagedChallenge)];

/// A managed ruleset as a zone has it.
struct Deployed {
    managed: Arc<ManagedRuleset>,
    /// `None` if no rule of the zone executes it.
    execute: Option<Rule>,
}

/// The id of a group, which is the same everywhere.
fn group_id(package: &str, category: &str) -> String {
    RuleId::derived("waf group", &format!("{package}/{category}")).to_string()
}

/// The managed rulesets that were packages.
fn packages(call: &ApiCall) -> impl Iterator<Item = &Arc<ManagedRuleset>> {
    call.snapshot.managed.iter().filter(|managed| managed.phase == PHASE)
}

/// The rule that executes a managed ruleset.
fn execute_rule<'r>(rules: &'r [Rule], id: &str) -> Option<&'r Rule> {
    rules.iter().find(|rule| matches!(&rule.action_parameters, Some(ActionParameters::Execute(execute)) if execute.id == id))
}

impl Deployed {
    fn of(call: &ApiCall, rules: &[Rule]) -> Result<Self, ApiErrors> {
        let id = call.parameter("package_id");
        let managed = packages(call).find(|managed| managed.id.as_str() == id);
        let managed = Arc::clone(managed.ok_or_else(|| unknown("WAF package", id))?);
        Ok(Self { execute: execute_rule(rules, id).cloned(), managed })
    }

    fn overrides(&self) -> Option<&Overrides> {
        match &self.execute.as_ref()?.action_parameters {
            Some(ActionParameters::Execute(execute)) => execute.overrides.as_ref(),
            _ => None,
        }
    }

    fn of_threshold(&self) -> Option<&RuleOverride> {
        let id = self.managed.threshold_rule()?.id.as_str();
        self.overrides()?.rules.iter().find(|rule| rule.id == id)
    }

    fn is_on(&self) -> bool {
        self.execute.as_ref().is_some_and(|rule| rule.enabled)
            && self.overrides().and_then(|overrides| overrides.enabled) != Some(false)
    }

    fn sensitivity(&self) -> &'static str {
        let by_default = self.managed.threshold_rule().and_then(|rule| rule.score_threshold);
        let threshold = self.of_threshold().and_then(|rule| rule.score_threshold).or(by_default).unwrap_or(0);
        let found = SENSITIVITIES.into_iter().find(|(_, most)| threshold <= *most);
        if self.is_on() { found.map_or("low", |(word, _)| word) } else { "off" }
    }

    fn action_mode(&self) -> &'static str {
        let of_ruleset = self.overrides().and_then(|overrides| overrides.action);
        let action = self.of_threshold().and_then(|rule| rule.action).or(of_ruleset).unwrap_or(Action::Block);
        match action {
            Action::Log => "simulate",
            Action::Block => "block",
            _ => "challenge",
        }
    }

    fn package<'a>(&'a self, call: &'a ApiCall) -> ShownPackage<'a> {
        ShownPackage {
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
    fn categories(&self) -> Vec<&str> {
        let mut all: Vec<&str> =
            self.managed.rules.iter().flat_map(|rule| &rule.categories).map(String::as_str).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn of_category(&self, category: &str) -> Option<bool> {
        let categories = &self.overrides()?.categories;
        categories.iter().rev().find(|known| known.category == category).and_then(|known| known.enabled)
    }

    fn shown_group<'a>(&'a self, category: &'a str) -> ShownGroup<'a> {
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
        ShownGroup {
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

    fn category(&self, call: &ApiCall) -> Result<&str, ApiErrors> {
        let id = call.parameter("group_id");
        let package = self.managed.id.as_str();
        let mut categories = self.categories().into_iter();
        let found = categories.find(|category| group_id(package, category) == id);
        found.ok_or_else(|| unknown("WAF group", id))
    }

    fn group(&self, call: &ApiCall) -> Result<ShownGroup<'_>, ApiErrors> {
        Ok(self.shown_group(self.category(call)?))
    }

    /// Whether a rule runs: what says so of itself, then of the last of its categories, then of all.
    fn runs(&self, rule: &ManagedRule) -> bool {
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

    fn shown_rule<'a>(&'a self, rule: &'a ManagedRule) -> ShownRule<'a> {
        let package = self.managed.id.as_str();
        let group = rule
            .categories
            .first()
            .map(|category| GroupReference { id: group_id(package, category), name: category });
        ShownRule {
            id: rule.id.as_str(),
            description: &rule.description,
            priority: &rule.reference,
            group,
            package_id: package,
            mode: switch(self.runs(rule)),
            allowed_modes: SWITCH,
        }
    }

    fn rule(&self, call: &ApiCall) -> Result<ShownRule<'_>, ApiErrors> {
        let id = call.parameter("rule_id");
        let found = self.managed.rules.iter().find(|rule| rule.id.as_str() == id);
        found.map(|rule| self.shown_rule(rule)).ok_or_else(|| unknown("WAF rule", id))
    }
}

async fn list(call: ApiCall) -> Answer {
    let rules = rules(&call, PHASE)?;
    let deployed: Vec<Deployed> = packages(&call)
        .map(|managed| Deployed {
            managed: Arc::clone(managed),
            execute: execute_rule(&rules, managed.id.as_str()).cloned(),
        })
        .collect();
    let shown = deployed.iter().map(|deployed| deployed.package(&call));
    let shown = shown.filter(|package| call.asked("name").is_none_or(|name| package.name == name)).collect();
    let (page, info) = call.paging(50, 100)?.of(shown);
    ApiReply::page(&page, info)
}

async fn groups(call: ApiCall) -> Answer {
    let deployed = Deployed::of(&call, &rules(&call, PHASE)?)?;
    let shown = deployed.categories().into_iter().map(|category| deployed.shown_group(category));
    let shown = shown.filter(|group| {
        call.asked("name").is_none_or(|name| group.name == name)
            && call.asked("mode").is_none_or(|mode| group.mode == mode)
    });
    let (page, info) = call.paging(50, 100)?.of(shown.collect());
    ApiReply::page(&page, info)
}

async fn rules_of_package(call: ApiCall) -> Answer {
    let deployed = Deployed::of(&call, &rules(&call, PHASE)?)?;
    let package = deployed.managed.id.as_str();
    let of_group = |rule: &&ManagedRule| {
        let ids = || rule.categories.iter().map(|category| group_id(package, category));
        call.asked("group_id").is_none_or(|wanted| ids().any(|id| id == wanted))
    };
    let shown = deployed.managed.rules.iter().filter(of_group).map(|rule| deployed.shown_rule(rule));
    let shown = shown.filter(|rule| call.asked("mode").is_none_or(|mode| rule.mode == mode)).collect();
    let (page, info) = call.paging(50, 1_000)?.of(shown);
    ApiReply::page(&page, info)
}

/// Changes the rule that executes a package; one is made if there is none.
async fn edit_package(
    call: &ApiCall,
    change: impl Fn(&mut Rule) + Send + 'static,
) -> Result<Deployed, ApiErrors> {
    let id = Deployed::of(call, &rules(call, PHASE)?)?.managed.id.to_string();
    let rules = edit(call, PHASE, move |rules| {
        if execute_rule(rules, &id).is_none() {
            let execute = ExecuteParameters {
                id: id.clone(),
                version: "latest".to_owned(),
                ..ExecuteParameters::default()
            };
            rules.push(with_new_id(Rule {
                action_parameters: Some(ActionParameters::Execute(execute)),
                enabled: false,
                ..Rule::new(Action::Execute)
            })?);
        }
        let found = execute_rule(rules, &id).map(|rule| rule.id.clone());
        rules.iter_mut().filter(|rule| found.as_ref() == Some(&rule.id)).for_each(&change);
        Ok(())
    })
    .await?;
    Deployed::of(call, &rules)
}

/// Changes the overrides of a rule that executes a ruleset.
fn with_overrides(rule: &mut Rule, change: impl FnOnce(&mut Overrides)) {
    if let Some(ActionParameters::Execute(execute)) = &mut rule.action_parameters {
        let mut overrides = execute.overrides.take().unwrap_or_default();
        change(&mut overrides);
        execute.overrides = (overrides != Overrides::default()).then_some(overrides);
    }
}

/// The override of a rule among others, made if it is missing.
fn override_of<'o>(overrides: &'o mut Overrides, id: &str) -> &'o mut RuleOverride {
    let found = overrides.rules.iter().position(|rule| rule.id == id);
    let at = found.unwrap_or_else(|| {
        overrides.rules.push(RuleOverride { id: id.to_owned(), ..RuleOverride::default() });
        overrides.rules.len() - 1
    });
    // INVARIANT: `at` was found or has just been added.
    #[expect(clippy::indexing_slicing, reason = "it is there")]
    &mut overrides.rules[at]
}

async fn change_package(call: ApiCall) -> Answer {
    let ((sensitivity, action), passed) = rule_input::read(&call.body, |fields| {
        fields.ignore(&["id", "name", "description", "zone_id", "detection_mode", "status"]);
        let word = |name: &'static str, known: &[&'static str]| {
            let word = fields.text(name)?;
            let found = known.iter().find(|known| **known == word).copied();
            if found.is_none() {
                let message = format!("expected one of `{}`, found `{word:.40}`", known.join("`, `"));
                fields.refuse(error::BAD_OVERRIDE, name, message);
            }
            found
        };
        let sensitivity = word("sensitivity", &["high", "medium", "low", "off"]);
        Some((sensitivity, word("action_mode", &["simulate", "block", "challenge"])))
    })?;
    let before = Deployed::of(&call, &rules(&call, PHASE)?)?;
    let threshold_rule = before.managed.threshold_rule().map(|rule| rule.id.to_string());
    // What reads as the same is left as it is: a threshold below that of `high` is `high` too.
    let sensitivity = sensitivity.filter(|word| *word != before.sensitivity());
    let action = action.filter(|word| *word != before.action_mode());
    let deployed = edit_package(&call, move |rule| {
        match sensitivity {
            Some("off") => rule.enabled = false,
            Some(_) => rule.enabled = true,
            None => {}
        }
        with_overrides(rule, |overrides| {
            if sensitivity.is_some_and(|word| word != "off") {
                overrides.enabled = overrides.enabled.filter(|is_on| *is_on);
            }
            let threshold = SENSITIVITIES.into_iter().find(|(word, _)| Some(*word) == sensitivity);
            let action = ACTION_MODES.into_iter().find(|(word, _)| Some(*word) == action);
            let Some(id) = threshold_rule.as_ref().filter(|_| threshold.is_some() || action.is_some()) else {
                return;
            };
            let own = override_of(overrides, id);
            own.score_threshold = threshold.map(|(_, threshold)| threshold).or(own.score_threshold);
            own.action = action.map(|(_, action)| action).or(own.action);
        });
    })
    .await?;
    Ok(ApiReply::of(&deployed.package(&call))?.passing_over(passed))
}

/// Reads the mode of a group or a rule.
fn written_mode(call: &ApiCall) -> Result<(bool, Vec<String>), ApiErrors> {
    rule_input::read(&call.body, |fields| {
        fields.ignore(&["id", "name", "description", "priority", "group", "package_id", "allowed_modes"]);
        match fields.required_text("mode")? {
            "on" | "default" => Some(true),
            "off" | "disable" => Some(false),
            other => {
                let message = format!("expected `on` or `off`, found `{other:.40}`");
                fields.refuse(error::BAD_OVERRIDE, "mode", message);
                None
            }
        }
    })
}

async fn change_group(call: ApiCall) -> Answer {
    let (is_on, passed) = written_mode(&call)?;
    let category = Deployed::of(&call, &rules(&call, PHASE)?)?.category(&call)?.to_owned();
    let deployed = edit_package(&call, move |rule| {
        with_overrides(rule, |overrides| {
            let known = overrides.categories.iter_mut().rev().find(|known| known.category == category);
            match known {
                Some(known) => known.enabled = Some(is_on),
                None if is_on => {}
                None => overrides.categories.push(CategoryOverride {
                    category: category.clone(),
                    enabled: Some(false),
                    action: None,
                }),
            }
        });
    })
    .await?;
    Ok(ApiReply::of(&deployed.group(&call)?)?.passing_over(passed))
}

async fn change_rule(call: ApiCall) -> Answer {
    let (is_on, passed) = written_mode(&call)?;
    let id = Deployed::of(&call, &rules(&call, PHASE)?)?.rule(&call)?.id.to_owned();
    let deployed = edit_package(&call, move |rule| {
        with_overrides(rule, |overrides| override_of(overrides, &id).enabled = Some(is_on));
    })
    .await?;
    Ok(ApiReply::of(&deployed.rule(&call)?)?.passing_over(passed))
}
