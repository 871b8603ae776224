//! A response carried sensitive data.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct SensitiveDataFound<'a> {
    #[serde(rename = "RayID")]
    pub ray: &'a str,
    #[serde(rename = "Action")]
    pub action: &'static str,
    #[serde(rename = "Source")]
    pub source: &'static str,
    #[serde(rename = "RuleID")]
    pub rule_id: &'a str,
    #[serde(rename = "Ref")]
    pub rule: &'a str,
    #[serde(rename = "Description")]
    pub description: &'a str,
    pub categories: &'a [String],
    pub confidence: &'static str,
    #[serde(rename = "ClientRequestHost")]
    pub host: &'a str,
    #[serde(rename = "ClientRequestPath")]
    pub path: &'a str,
    pub zone: &'a str,
    /// How often the rule matched in this body.
    pub count: usize,
    /// Where the first match begins, in bytes of the decoded body.
    pub offset: usize,
    /// Its JSON pointer or path of elements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<&'a str>,
    /// The first match, masked.
    pub sample: String,
    /// Whether only the first part of the body was scanned.
    pub truncated: bool,
}

impl Event for SensitiveDataFound<'_> {
    const NAME: &'static str = "sensitive_data";
    const LEVEL: Level = Level::Warn;

    fn count(&self, metrics: &Metrics) {
        metrics.detections.with_label_values(&[self.rule]).inc_by(self.count as u64);
    }
}
