//! Sensitive data in what is asked and answered.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::detection::redact;
use crate::detection::scan::Detector;

/// The rules that calls of a gateway are scanned by.
#[derive(Clone, Debug)]
pub struct ScanPlan {
    pub detector: Arc<Detector>,
    /// For each rule of the detector, whether it runs.
    pub enabled: Arc<[bool]>,
}

/// What a rule found in one direction of a call. The value itself is nowhere in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// `REQUEST` or `RESPONSE`.
    pub check: String,
    pub rule: String,
    pub count: usize,
    /// Where the first match begins, in bytes.
    pub offset: usize,
    /// The first match, masked.
    pub sample: String,
}

impl ScanPlan {
    /// Scans a body, one finding for each rule that found something.
    pub fn scan(&self, check: &str, body: &[u8]) -> Vec<Finding> {
        let found = self.detector.scan(body, &|rule| self.enabled.get(rule).copied().unwrap_or(false));
        let rules = self.detector.rules().iter().enumerate();
        let of_rule = |index: usize| found.iter().filter(move |detection| detection.rule == index);
        let finding = |(index, rule): (usize, &crate::detection::rule::Rule)| {
            let first = of_rule(index).next()?;
            Some(Finding {
                check: check.to_owned(),
                rule: rule.id.clone(),
                count: of_rule(index).count(),
                offset: first.start,
                sample: redact::mask(body.get(first.start..first.end).unwrap_or(&[])),
            })
        };
        rules.filter_map(finding).collect()
    }
}
