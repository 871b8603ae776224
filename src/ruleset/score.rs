//! From effective settings to what the rule engine starts with.
//!
//! SecLang rule sets keep thresholds and levels in `TX`; these are the names they read. Both the
//! names of our own rules and those of the Core Rule Set's set-up are set, before the first rule.

use super::managed::ManagedRuleset;
use super::overrides::Effective;
use model::Action;
use seclang::ActionOverride;
use seclang::PlanSettings;

/// `TX` entries that hold the threshold.
const THRESHOLD: &[&str] = &["inbound_anomaly_score_threshold"];
/// `TX` entries that hold the paranoia level.
const PARANOIA_LEVEL: &[&str] = &[
    "blocking_paranoia_level",
    "detection_paranoia_level",
    // The Core Rule Set 3.
    "paranoia_level",
    "executing_paranoia_level",
];

/// The plan settings of a deployment.
pub fn plan_settings(managed: &ManagedRuleset, effective: &Effective) -> PlanSettings {
    let threshold = effective.score_threshold.to_string();
    let level = effective.paranoia_level.to_string();
    let variables = THRESHOLD
        .iter()
        .map(|name| ((*name).to_owned(), threshold.clone()))
        .chain(PARANOIA_LEVEL.iter().map(|name| ((*name).to_owned(), level.clone())))
        .collect();
    let threshold_rule = managed.threshold_rule().and_then(|rule| rule.reference.parse().ok());
    PlanSettings {
        disabled: effective.disabled.iter().filter_map(|reference| reference.parse().ok()).collect(),
        variables,
        actions: threshold_rule
            .zip(effective.action)
            .map(|(rule, action)| ActionOverride { rule, refuses: action != Action::Log })
            .into_iter()
            .collect(),
        // Rule sets have rules that refuse on their own, such as those that look at responses.
        only_reports: effective.action == Some(Action::Log),
    }
}
