//! A managed ruleset under overrides: what runs, from which score it acts, and how.
//!
//! Precedence (spec, "Rulesets"): rule, then category, then ruleset. If several categories of a
//! rule are overridden, the last one listed wins.

use super::managed::{DEFAULT_SCORE_THRESHOLD, ManagedRule, ManagedRuleset};
use diagnostic::{Code, Diagnostic, Diagnostics, nearest};
use model::Action;
use model::Phase;
use model::ruleset::{CategoryOverride, Overrides, RuleOverride};

/// The outcome for one deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    /// References of the rules that do not run.
    pub disabled: Vec<String>,
    /// The highest paranoia level of which a rule runs.
    pub paranoia_level: u8,
    pub score_threshold: i64,
    /// What happens when the threshold is reached; `None` if the threshold rule is disabled.
    pub action: Option<Action>,
}

/// The overrides of a paranoia level and a threshold: levels above are off. A rule set without rules
/// of a level needs no override for it.
pub fn short_form(managed: &ManagedRuleset, paranoia_level: u8, score_threshold: i64) -> Overrides {
    let above = (paranoia_level + 1..=4).map(|level| format!("paranoia-level-{level}"));
    let categories = above
        .filter(|category| managed.rules.iter().any(|rule| rule.categories.contains(category)))
        .map(|category| CategoryOverride { category, enabled: Some(false), action: None });
    let last = managed.threshold_rule().map(|rule| RuleOverride {
        id: rule.id.to_string(),
        score_threshold: Some(score_threshold),
        ..RuleOverride::default()
    });
    Overrides { categories: categories.collect(), rules: last.into_iter().collect(), ..Overrides::default() }
}

/// Applies overrides. Every error is reported; what is invalid changes nothing.
pub fn apply(managed: &ManagedRuleset, overrides: &Overrides, diagnostics: &mut Diagnostics) -> Effective {
    check(managed, overrides, diagnostics);
    let is_enabled = |rule: &ManagedRule| decided(rule, overrides).is_enabled;
    let (enabled, disabled): (Vec<_>, Vec<_>) = managed.rules.iter().partition(|rule| is_enabled(rule));
    let threshold_rule = managed.threshold_rule();
    let on_threshold_rule = || {
        let id = threshold_rule.map(|rule| rule.id.as_str());
        overrides.rules.iter().filter(move |o| Some(o.id.as_str()) == id)
    };
    let by_category = overrides
        .categories
        .iter()
        .filter(|o| threshold_rule.is_some_and(|rule| rule.categories.contains(&o.category)))
        .filter_map(|o| o.action)
        .next_back();
    let action = on_threshold_rule().filter_map(|o| o.action).next_back();
    let action = action.or(by_category).or(overrides.action).unwrap_or(Action::Block);
    Effective {
        disabled: disabled.iter().map(|rule| rule.reference.clone()).collect(),
        paranoia_level: enabled.iter().filter_map(|rule| paranoia_level(rule)).max().unwrap_or(1),
        score_threshold: on_threshold_rule()
            .filter_map(|o| o.score_threshold)
            .next_back()
            .unwrap_or(DEFAULT_SCORE_THRESHOLD),
        action: threshold_rule
            .filter(|rule| is_enabled(rule))
            .map(|_| action.on_threshold().unwrap_or(Action::Block)),
    }
}

/// Whether a managed rule runs, and what decided so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    pub is_enabled: bool,
    /// `rule`, `category NAME`, `ruleset` or `default`.
    pub by: String,
}

/// Whether a managed rule runs under overrides.
pub fn decided(rule: &ManagedRule, overrides: &Overrides) -> Decided {
    let of_rule = overrides.rules.iter().filter(|o| o.id == rule.id.as_str());
    if let Some(is_enabled) = of_rule.filter_map(|o| o.enabled).next_back() {
        return Decided { is_enabled, by: "rule".to_owned() };
    }
    let of_category = overrides.categories.iter().filter(|o| rule.categories.contains(&o.category));
    if let Some((name, is_enabled)) =
        of_category.filter_map(|o| o.enabled.map(|is_enabled| (&o.category, is_enabled))).next_back()
    {
        return Decided { is_enabled, by: format!("category {name}") };
    }
    match overrides.enabled {
        Some(is_enabled) => Decided { is_enabled, by: "ruleset".to_owned() },
        None => Decided { is_enabled: rule.enabled, by: "default".to_owned() },
    }
}

/// The paranoia level of a rule; `None` if it runs at all of them.
pub fn paranoia_level(rule: &ManagedRule) -> Option<u8> {
    rule.categories.iter().find_map(|category| category.strip_prefix("paranoia-level-")?.parse().ok())
}

fn check(managed: &ManagedRuleset, overrides: &Overrides, diagnostics: &mut Diagnostics) {
    let mut refuse = |code, message: String| diagnostics.push(Diagnostic::error(code, message));
    for category in &overrides.categories {
        if !managed.rules.iter().any(|rule| rule.categories.contains(&category.category)) {
            let known = managed.rules.iter().flat_map(|rule| rule.categories.iter().map(String::as_str));
            let hint = nearest(&category.category, known)
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            refuse(
                Code::RulesetUnknownCategory,
                format!("no rule of {} has the category `{}`{hint}", managed.name, category.category),
            );
        }
        category.action.iter().for_each(|action| check_action(managed.phase, *action, &mut refuse));
    }
    overrides.action.iter().for_each(|action| check_action(managed.phase, *action, &mut refuse));
    for change in &overrides.rules {
        let Some(rule) = managed.rules.iter().find(|rule| rule.id.as_str() == change.id) else {
            refuse(Code::RulesetUnknownRule, format!("{} has no rule `{}`", managed.name, change.id));
            continue;
        };
        let acts = rule.score_threshold.is_some();
        if !acts && change.score_threshold.is_some() {
            refuse(
                Code::RulesetUnknownRule,
                format!("rule `{}` has no threshold; only the last rule of the ruleset has one", change.id),
            );
        }
        if change.score_threshold.is_some_and(|threshold| threshold < 1) {
            refuse(
                Code::RulesetBadOverride,
                format!("the threshold of rule `{}` must be above 0", change.id),
            );
        }
        if let Some(action) = change.action {
            if managed.phase == Phase::HttpRequestFirewallManaged && !acts {
                refuse(
                    Code::RulesetBadOverride,
                    format!(
                        "rule `{}` only adds to the score; set the action on the last rule of the ruleset",
                        change.id
                    ),
                );
            }
            check_action(managed.phase, action, &mut refuse);
        }
    }
}

fn check_action(phase: Phase, action: Action, refuse: &mut impl FnMut(Code, String)) {
    match (phase.is_of_response(), action) {
        (true, Action::Log) => {}
        (true, _) => {
            let message = format!("sensitive data rules only `log`, found `{}`", action.word());
            refuse(Code::RulesetBadOverride, message);
        }
        (false, _) => {
            if let Err(message) = action.on_threshold() {
                refuse(Code::RulesetBadOverride, message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::RuleId;
    use model::ruleset::{CategoryOverride, RuleOverride};

    fn managed() -> ManagedRuleset {
        let rule = |reference: &str, categories: &[&str], score_threshold| ManagedRule {
            id: RuleId::new(reference),
            reference: reference.to_owned(),
            description: String::new(),
            categories: categories.iter().map(|c| (*c).to_owned()).collect(),
            enabled: true,
            score_threshold,
        };
        ManagedRuleset {
            id: ManagedRuleset::owasp_id(),
            name: "test",
            description: "",
            phase: Phase::HttpRequestFirewallManaged,
            last_updated: String::new(),
            rules: vec![
                rule("a1", &["sqli", "paranoia-level-1"], None),
                rule("a2", &["sqli", "paranoia-level-2"], None),
                rule("b3", &["xss", "paranoia-level-3"], None),
                rule("last", &[], Some(5)),
            ],
        }
    }

    fn category(name: &str, enabled: bool) -> CategoryOverride {
        CategoryOverride { category: name.to_owned(), enabled: Some(enabled), action: None }
    }

    fn rule(id: &str) -> RuleOverride {
        RuleOverride { id: id.to_owned(), ..RuleOverride::default() }
    }

    fn effective(overrides: &Overrides) -> (Effective, Vec<String>) {
        let mut diagnostics = Diagnostics::default();
        let effective = apply(&managed(), overrides, &mut diagnostics);
        (effective, diagnostics.iter().map(|d| d.message.clone()).collect())
    }

    #[test]
    fn levels_above_n_are_disabled_and_those_up_to_n_stay() {
        let categories = vec![category("paranoia-level-2", false), category("paranoia-level-3", false)];
        let (effective, mistakes) = effective(&Overrides { categories, ..Overrides::default() });
        assert_eq!(mistakes, Vec::<String>::new());
        assert_eq!(effective.disabled, ["a2", "b3"]);
        assert_eq!(
            (effective.paranoia_level, effective.score_threshold, effective.action),
            (1, 5, Some(Action::Block))
        );
    }

    #[test]
    fn rule_wins_over_category_over_ruleset_and_the_last_category_wins() {
        let overrides = Overrides {
            enabled: Some(false),
            action: Some(Action::Block),
            categories: vec![
                category("paranoia-level-2", false),
                category("sqli", true),
                category("paranoia-level-1", false),
            ],
            rules: vec![
                RuleOverride { enabled: Some(true), ..rule("b3") },
                RuleOverride {
                    enabled: Some(true),
                    action: Some(Action::Log),
                    score_threshold: Some(25),
                    ..rule("last")
                },
            ],
        };
        let (effective, mistakes) = effective(&overrides);
        assert_eq!(mistakes, Vec::<String>::new());
        assert_eq!(effective.disabled, ["a1"]);
        assert_eq!(
            (effective.paranoia_level, effective.score_threshold, effective.action),
            (3, 25, Some(Action::Log))
        );
    }

    #[test]
    fn a_disabled_ruleset_never_acts() {
        let (effective, _) = effective(&Overrides { enabled: Some(false), ..Overrides::default() });
        assert_eq!((effective.disabled.len(), effective.action), (4, None));
    }

    #[test]
    fn mistakes_are_all_named() {
        let overrides = Overrides {
            action: Some(Action::Skip),
            categories: vec![category("paranoia-level-9", false)],
            rules: vec![
                rule("nope"),
                RuleOverride { score_threshold: Some(1), action: Some(Action::Log), ..rule("a1") },
                RuleOverride { score_threshold: Some(0), ..rule("last") },
            ],
            ..Overrides::default()
        };
        insta::assert_snapshot!(effective(&overrides).1.join("\n"), @r"
        no rule of test has the category `paranoia-level-9`; did you mean `paranoia-level-1`?
        the action `skip` is not for a managed rule; use `block` or `log`
        test has no rule `nope`
        rule `a1` has no threshold; only the last rule of the ruleset has one
        rule `a1` only adds to the score; set the action on the last rule of the ruleset
        the threshold of rule `last` must be above 0
        ");
    }
}
