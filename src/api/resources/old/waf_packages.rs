//! WAF packages with their groups and rules: managed rulesets with their categories and rules, as the first rule of the
//! zone's entry point that executes one has them.

use std::sync::Arc;

use model::ruleset::{ActionParameters, CategoryOverride, ExecuteParameters, Rule};
use model::{Action, Phase};

use super::operation::{WRITE, operation};
use super::shapes;
use super::waf_deployed::{
    ACTION_MODES, Deployed, SENSITIVITIES, execute_rule, group_id, override_of, packages, with_overrides,
};
use super::zone_rules::{edit, rules, with_new_id};
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiErrors};
use crate::api::operation::{
    Answer, ApiCall, InputShape, Kind, Operation, PAGE, PER_PAGE, QueryParameter, ResultKind, Verb,
};
use crate::api::resources::rule_input;
use crate::ruleset::ManagedRule;

pub(super) const PHASE: Phase = Phase::HttpRequestFirewallManaged;
const PACKAGE: &str = "/zones/{zone_id}/firewall/waf/packages/{package_id}";
const GROUP: &str = "/zones/{zone_id}/firewall/waf/packages/{package_id}/groups/{group_id}";
const RULE: &str = "/zones/{zone_id}/firewall/waf/packages/{package_id}/rules/{rule_id}";

const LIST: &[QueryParameter] = &[
    PAGE,
    PER_PAGE,
    QueryParameter { name: "name", kind: Kind::Text, doc: "Only those of this name." },
    QueryParameter { name: "group_id", kind: Kind::Text, doc: "Only rules of this group." },
    QueryParameter { name: "mode", kind: Kind::Text, doc: "Only those that are `on` or `off`." },
];
const BODY: InputShape = InputShape::Object(shapes::WAF_MODE);
const OF_PACKAGE: ResultKind = ResultKind::One(shapes::WAF_PACKAGE);
const OF_GROUP: ResultKind = ResultKind::One(shapes::WAF_GROUP);
const OF_RULE: ResultKind = ResultKind::One(shapes::WAF_RULE);

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    operation(
        Verb::Get,
        "/zones/{zone_id}/firewall/waf/packages",
        "Lists WAF packages.",
        (LIST, BODY),
        ResultKind::List(shapes::WAF_PACKAGE),
        |call| Box::pin(list(call)),
    ),
    operation(Verb::Get, PACKAGE, "Shows a WAF package.", (&[], BODY), OF_PACKAGE, |call| {
        Box::pin(async move {
            let deployed = Deployed::of(&call, &rules(&call, PHASE)?)?;
            ApiReply::of(&deployed.package(&call))
        })
    }),
    operation(Verb::Patch, PACKAGE, "Changes a WAF package.", (WRITE, BODY), OF_PACKAGE, |call| {
        Box::pin(change_package(call))
    }),
    operation(
        Verb::Get,
        "/zones/{zone_id}/firewall/waf/packages/{package_id}/groups",
        "Lists the groups of a WAF package.",
        (LIST, BODY),
        ResultKind::List(shapes::WAF_GROUP),
        |call| Box::pin(groups(call)),
    ),
    operation(Verb::Get, GROUP, "Shows a group of a WAF package.", (&[], BODY), OF_GROUP, |call| {
        Box::pin(async move {
            let deployed = Deployed::of(&call, &rules(&call, PHASE)?)?;
            ApiReply::of(&deployed.group(&call)?)
        })
    }),
    operation(Verb::Patch, GROUP, "Switches a group of a WAF package.", (WRITE, BODY), OF_GROUP, |call| {
        Box::pin(change_group(call))
    }),
    operation(
        Verb::Get,
        "/zones/{zone_id}/firewall/waf/packages/{package_id}/rules",
        "Lists the rules of a WAF package.",
        (LIST, BODY),
        ResultKind::List(shapes::WAF_RULE),
        |call| Box::pin(rules_of_package(call)),
    ),
    operation(Verb::Get, RULE, "Shows a rule of a WAF package.", (&[], BODY), OF_RULE, |call| {
        Box::pin(async move {
            let deployed = Deployed::of(&call, &rules(&call, PHASE)?)?;
            ApiReply::of(&deployed.rule(&call)?)
        })
    }),
    operation(Verb::Patch, RULE, "Switches a rule of a WAF package.", (WRITE, BODY), OF_RULE, |call| {
        Box::pin(change_rule(call))
    }),
];

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
