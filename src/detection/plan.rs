//! What is scanned for, and what each rule found.

use std::sync::Arc;

use super::location;
use super::rule::{Confidence, Rule};
use super::scan::Detector;
use crate::events::Events;
use crate::events::kinds::SensitiveDataFound;
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

/// The message a body belongs to, for the event.
#[derive(Clone, Debug)]
pub struct Subject {
    pub ray: String,
    pub zone: String,
    pub host: String,
    pub path: String,
}

impl Plan {
    /// Scans a body: one entry for each rule that found something, and whether the scan ended before its
    /// time.
    pub fn scan<'p>(&'p self, body: &[u8]) -> (Vec<Found<'p>>, bool) {
        let scanned = self.detector.scan(body, &|rule| self.enabled.get(rule).copied().unwrap_or(false));
        let found = scanned.detections;
        let by_rule = |(index, rule): (usize, &'p Rule)| {
            let mut of_rule = found.iter().filter(|detection| detection.rule == index);
            let first = of_rule.next()?;
            let sample = rule.mask(body.get(first.start..first.end).unwrap_or(&[]));
            let location = location::of(body, first.start);
            let confidence = first.confidence;
            Some(Found {
                rule,
                count: 1 + of_rule.count(),
                offset: first.start,
                location,
                confidence,
                sample,
            })
        };
        (self.detector.rules().iter().enumerate().filter_map(by_rule).collect(), scanned.exhausted)
    }
}

/// One event for each rule that found something.
pub fn report(
    found: &[Found<'_>],
    subject: &Subject,
    action: &'static str,
    truncated: bool,
    events: &Events,
) {
    for Found { rule, count, offset, location, confidence, sample } in found {
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
