//! What calls of a gateway are scanned for, and what comes of what is found.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::events::Events;
use crate::ruleset::ManagedRuleset;
use crate::scanning::{self, Subject};
use detection::ScanPlan;
use detection::plan::{Findings, Found};
use model::{Finding, RuleId};
use serde_json::{Value, json};

/// Longest field that says what was found, in bytes, and most rules of a profile in it: a body can be made to match any
/// number.
const MAX_FIELD_BYTES: usize = 4 << 10;
const MAX_TOLD_RULES: usize = 16;
/// Most profiles in it, whatever their length.
const MAX_TOLD: usize = 64;

/// The scans of a gateway's calls, if they are scanned.
#[derive(Debug, Default)]
pub struct CallScan {
    pub requests: Option<StageScan>,
    pub responses: Option<StageScan>,
}

/// What is looked for in one direction of calls.
#[derive(Clone, Debug)]
pub struct StageScan {
    /// `REQUEST` or `RESPONSE`.
    check: &'static str,
    /// All that any of its policies looks for.
    plan: ScanPlan,
    policies: Vec<ScanPolicy>,
}

/// A policy, compiled.
#[derive(Clone, Debug, Hash)]
pub struct ScanPolicy {
    /// Empty if it has none.
    pub id: String,
    pub blocks: bool,
    pub profiles: Vec<ScanProfile>,
}

/// What a policy looks for.
#[derive(Clone, Debug, Hash)]
pub struct ScanProfile {
    pub id: String,
    /// For each rule of the managed ruleset, which are those of the detector in their order, whether it is one of these.
    pub rules: Arc<[bool]>,
}

/// What was found in one direction of a call.
#[derive(Clone, Debug, Default)]
pub struct ScanVerdict {
    pub blocks: bool,
    /// Whether the scan stopped before the end of the body. Such a body is not let through.
    pub is_cut: bool,
    /// As the row of the call keeps them.
    pub findings: Vec<Finding>,
    /// As the field `svc-aig-dlp` lists them.
    pub told: Vec<Value>,
}

impl ScanProfile {
    /// What a category stands for, all of its rules, also those that do not run by default; or a single rule. `None` if there
    /// is neither.
    pub fn of(word: &str, managed: &ManagedRuleset) -> Option<Self> {
        let rules = managed.rules.iter().map(|rule| rule.is_of(word)).collect();
        managed.has_rules_of(word).then(|| Self { id: word.to_owned(), rules })
    }

    /// All rules as they are by default.
    pub fn by_default(managed: &ManagedRuleset) -> Self {
        Self { id: managed.id.to_string(), rules: managed.rules.iter().map(|rule| rule.enabled).collect() }
    }
}

impl ScanPolicy {
    fn looks_for(&self, rule: usize) -> bool {
        self.profiles.iter().any(|profile| profile.looks_for(rule))
    }
}

impl ScanProfile {
    fn looks_for(&self, rule: usize) -> bool {
        self.rules.get(rule).copied().unwrap_or(false)
    }
}

/// By what it looks for: the rules themselves are the same for all.
impl Hash for StageScan {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.policies.hash(state);
    }
}

impl StageScan {
    /// `None` without policies. The rules of `plan` are replaced by those of the policies.
    pub fn new(check: &'static str, plan: ScanPlan, policies: Vec<ScanPolicy>) -> Option<Self> {
        let rules = 0..plan.detector.rules().len();
        let enabled = rules.map(|rule| policies.iter().any(|policy| policy.looks_for(rule))).collect();
        (!policies.is_empty()).then(|| Self { check, plan: ScanPlan { enabled, ..plan }, policies })
    }

    /// Whether a call may have to end here: it is held until it has been scanned.
    pub fn may_block(&self) -> bool {
        self.policies.iter().any(|policy| policy.blocks)
    }

    /// Scans a body as it is, then its texts without escapes and with the pieces of streams joined. Emits an event for each rule
    /// that found something.
    pub fn scan(&self, body: &[u8], content_type: &[u8], subject: &Subject, events: &Events) -> ScanVerdict {
        let mut findings = self.plan.scan(body, &subject.ray, None);
        if let Some(texts) = gateway::texts(body, content_type) {
            let within = self.plan.scan(&texts, &subject.ray, None);
            findings.exhausted |= within.exhausted;
            for found in within.found {
                if !findings.found.iter().any(|known| known.rule.id == found.rule.id) {
                    findings.found.push(found);
                }
            }
        }
        let verdict = self.verdict(&findings);
        let blocks = |found: &Found<'_>| self.policies_for(found).any(|policy| policy.blocks);
        let (blocking, others) = findings.found.into_iter().partition(blocks);
        for (found, action, exhausted) in [(blocking, "block", findings.exhausted), (others, "log", false)] {
            scanning::report(&Findings { found, exhausted }, subject, action, false, events);
        }
        verdict
    }

    fn place(&self, found: &Found<'_>) -> Option<usize> {
        self.plan.detector.rules().iter().position(|rule| rule.id == found.rule.id)
    }

    fn policies_for(&self, found: &Found<'_>) -> impl Iterator<Item = &ScanPolicy> {
        let place = self.place(found);
        self.policies.iter().filter(move |policy| place.is_some_and(|place| policy.looks_for(place)))
    }

    fn verdict(&self, Findings { found, exhausted }: &Findings<'_>) -> ScanVerdict {
        let mut told = Vec::new();
        for policy in &self.policies {
            for profile in &policy.profiles {
                let of_profile = found
                    .iter()
                    .filter(|found| self.place(found).is_some_and(|place| profile.looks_for(place)));
                let entries: Vec<String> = of_profile
                    .take(MAX_TOLD_RULES)
                    .map(|found| RuleId::derived("sensitive data rule", &found.rule.id).to_string())
                    .collect();
                if entries.is_empty() {
                    continue;
                }
                let policies: Vec<&str> =
                    Some(policy.id.as_str()).filter(|id| !id.is_empty()).into_iter().collect();
                told.push(json!({
                    "profile": {"context": {}, "entry_ids": entries, "profile_id": profile.id},
                    "policy_ids": policies,
                    "check": self.check,
                }));
            }
        }
        let finding = |found: &Found<'_>| Finding {
            check: self.check.to_owned(),
            rule: found.rule.id.clone(),
            count: found.count,
            offset: found.offset,
            sample: found.sample.clone(),
        };
        let blocks = found.iter().any(|found| self.policies_for(found).any(|policy| policy.blocks));
        let is_cut = *exhausted && self.may_block();
        ScanVerdict { blocks: blocks || is_cut, is_cut, findings: found.iter().map(finding).collect(), told }
    }
}

impl ScanVerdict {
    /// The field `svc-aig-dlp`, with as much of what was found as fits; `None` if nothing was found.
    pub fn field(&self) -> Option<String> {
        let action = if self.blocks { "BLOCK" } else { "FLAG" };
        let fields = (1..=self.told.len().min(MAX_TOLD)).rev().map(|count| {
            let told: Vec<&Value> = self.told.iter().take(count).collect();
            (count, json!({ "findings": told, "action": action }).to_string())
        });
        let mut fitting = fields.filter(|(count, field)| *count == 1 || field.len() <= MAX_FIELD_BYTES);
        fitting.next().map(|(_, field)| field)
    }

    /// What was found in both directions.
    pub fn add(&mut self, other: Self) {
        self.blocks |= other.blocks;
        self.is_cut |= other.is_cut;
        self.findings.extend(other.findings);
        self.told.extend(other.told);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_is_bounded() {
        assert_eq!(ScanVerdict::default().field(), None);
        let told = |count: usize| ScanVerdict {
            blocks: true,
            told: (0..count).map(|nth| json!({"policy_ids": [nth], "of": "x".repeat(600)})).collect(),
            ..ScanVerdict::default()
        };
        let findings = |verdict: ScanVerdict| {
            let field = verdict.field().unwrap();
            assert!(field.len() <= MAX_FIELD_BYTES, "{}", field.len());
            serde_json::from_str::<Value>(&field).unwrap()["findings"].as_array().unwrap().len()
        };
        assert_eq!((findings(told(1)), findings(told(6)), findings(told(100))), (1, 6, 6));
    }
}
