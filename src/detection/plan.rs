//! What is scanned for, and what each rule found.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::location;
use super::rule::{Confidence, Rule};
use super::scan::{Detection, Detector};
use crate::events::Events;
use crate::events::kinds::{ScanSkipped, SensitiveDataFound, SkipReason};
use crate::model::RuleId;

/// What a zone's deployment or a gateway scans for.
#[derive(Clone, Debug)]
pub struct Plan {
    pub detector: Arc<Detector>,
    /// For each rule of the detector, whether it runs.
    pub enabled: Arc<[bool]>,
}

/// What one rule found in a body. The value itself is nowhere in it.
#[derive(Clone, Debug)]
pub struct Found<'p> {
    pub rule: &'p Rule,
    pub count: usize,
    /// Where the first match begins, in bytes.
    pub offset: usize,
    /// The JSON pointer or the path of elements that the first match stands at.
    pub location: Option<String>,
    /// Of the first match.
    pub confidence: Confidence,
    /// The first match, masked.
    pub sample: String,
}

/// What the rules of a plan found in a body.
#[derive(Clone, Debug)]
pub struct Findings<'p> {
    /// One entry for each rule that found something.
    pub found: Vec<Found<'p>>,
    /// Whether the scan ended before its time.
    pub exhausted: bool,
}

/// The message a body belongs to, for the event.
#[derive(Clone, Debug)]
pub struct Subject {
    pub ray: String,
    pub zone: String,
    pub host: String,
    pub path: String,
}

impl Plan {
    /// Scans a body.
    pub fn scan(&self, body: &[u8]) -> Findings<'_> {
        let scanned = self.detector.scan(body, &|rule| self.enabled.get(rule).copied().unwrap_or(false));
        // Of each rule the first, for they are sorted by place, and how many there are.
        let mut by_rule: BTreeMap<usize, (Detection, usize)> = BTreeMap::new();
        for detection in scanned.detections {
            by_rule.entry(detection.rule).or_insert((detection, 0)).1 += 1;
        }
        let found = by_rule.into_iter().filter_map(|(rule, (first, count))| {
            let rule = self.detector.rules().get(rule)?;
            Some(Found {
                rule,
                count,
                offset: first.start,
                location: location::of(body, first.start),
                confidence: first.confidence,
                sample: rule.mask(body.get(first.start..first.end).unwrap_or(&[])),
            })
        });
        Findings { found: found.collect(), exhausted: scanned.exhausted }
    }
}

/// One event for each rule that found something, and one where the scan ended before its time.
pub fn report(
    findings: &Findings<'_>,
    subject: &Subject,
    action: &'static str,
    truncated: bool,
    events: &Events,
) {
    if findings.exhausted {
        events.emit(&ScanSkipped { reason: SkipReason::Exhausted });
    }
    for Found { rule, count, offset, location, confidence, sample } in &findings.found {
        events.emit(&SensitiveDataFound {
            ray: &subject.ray,
            action,
            source: "dlp",
            rule_id: RuleId::derived("sensitive data rule", &rule.id).as_str(),
            rule: &rule.id,
            description: &rule.name,
            categories: &rule.categories,
            confidence: confidence.word(),
            host: &subject.host,
            path: &subject.path,
            zone: &subject.zone,
            count: *count,
            offset: *offset,
            location: location.as_deref(),
            sample: sample.clone(),
            truncated,
        });
    }
}
