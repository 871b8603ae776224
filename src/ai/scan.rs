//! Sensitive data in a call, as its row has it.

use crate::ruleset::ManagedRuleset;
use detection::plan::Found;
use model::{Finding, RuleId};

/// What a rule found in one direction of a call (`REQUEST` or `RESPONSE`), for the call's row.
pub fn finding(check: &str, found: &Found<'_>) -> Finding {
    Finding {
        check: check.to_owned(),
        rule: found.rule.id.clone(),
        count: found.count,
        offset: found.offset,
        sample: found.sample.clone(),
    }
}

/// What was found in a call and what came of it: the JSON of the header `svc-aig-dlp`.
pub fn verdict<'r>(check: &str, rules: impl Iterator<Item = &'r str>, action: &str) -> String {
    let entries: Vec<_> =
        rules.map(|rule| RuleId::derived("sensitive data rule", rule).to_string()).collect();
    let profile = serde_json::json!({
        "context": {},
        "entry_ids": entries,
        "profile_id": ManagedRuleset::sensitive_data_id().to_string(),
    });
    serde_json::json!({
        "findings": [{ "profile": profile, "policy_ids": [], "check": check }],
        "action": action,
    })
    .to_string()
}
