//! A response carried sensitive data.

use std::time::{Duration, UNIX_EPOCH};

use serde::{Serialize, Serializer};

use crate::clock::rfc3339;
use crate::events::{Event, Level, Metrics, ZoneLabel};
use model::SecurityRecord;

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
    pub zone: ZoneLabel<'a>,
    /// How often the rule matched in this body.
    pub count: usize,
    /// Where the first match begins, in bytes of the decoded body.
    pub offset: usize,
    /// Its JSON pointer or path of elements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<&'a str>,
    /// The first match, masked.
    pub sample: &'a str,
    /// The first match with the text around it, sealed for the zone's payload key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<&'a str>,
    /// Keyed hash of the first match: the same for the same value, wherever it is found.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "hex")]
    pub fingerprint: Option<u128>,
    /// How often just these values were found on this path, this time among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time")]
    pub first_seen: Option<Duration>,
    /// The time before this one.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time")]
    pub last_seen: Option<Duration>,
    /// Whether only the first part of the body was scanned.
    pub truncated: bool,
}

fn hex<S: Serializer>(digest: &Option<u128>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&digest.map(|digest| format!("{digest:032x}")).unwrap_or_default())
}

/// A time since the Unix epoch.
fn time<S: Serializer>(at: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&at.map(|at| rfc3339(UNIX_EPOCH + at)).unwrap_or_default())
}

impl Event for SensitiveDataFound<'_> {
    const NAME: &'static str = "sensitive_data";
    const MESSAGE: &'static str = "sensitive data in a response";
    const LEVEL: Level = Level::Warn;

    fn record(&self) -> Option<(SecurityRecord, bool)> {
        let record = SecurityRecord {
            ray: self.ray.to_owned(),
            action: self.action.to_owned(),
            source: self.source.to_owned(),
            service: "Data Loss Protection".to_owned(),
            rule: self.rule_id.to_owned(),
            reference: self.rule.to_owned(),
            description: self.description.to_owned(),
            host: self.host.to_owned(),
            path: self.path.to_owned(),
            zone: self.zone.name.to_owned(),
            zone_id: self.zone.zone_id.to_owned(),
            account_id: self.zone.account_id.to_owned(),
            count: self.count as u64,
            ..SecurityRecord::default()
        };
        Some((record, false))
    }

    fn count(&self, metrics: &Metrics) {
        metrics.detections.with_label_values(&[self.rule]).inc_by(self.count as u64);
    }
}
