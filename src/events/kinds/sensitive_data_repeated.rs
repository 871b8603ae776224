//! A response carried sensitive data that was reported for its path a short while ago.

use serde::Serialize;

use crate::events::{Event, Level, Metrics, ZoneLabel};
use model::SecurityRecord;

#[derive(Debug, Serialize)]
pub struct SensitiveDataRepeated<'a> {
    #[serde(rename = "RayID")]
    pub ray: &'a str,
    #[serde(rename = "Ref")]
    pub rule: &'a str,
    /// How often the rule matched in this body.
    pub count: usize,
    /// Of the event that it repeats.
    #[serde(skip)]
    pub path: &'a str,
    #[serde(skip)]
    pub zone: ZoneLabel<'a>,
}

impl Event for SensitiveDataRepeated<'_> {
    const NAME: &'static str = "sensitive_data_repeated";
    const MESSAGE: &'static str = "sensitive data in a response again";
    const LEVEL: Level = Level::Debug;

    fn record(&self) -> Option<(SecurityRecord, bool)> {
        let record = SecurityRecord {
            ray: self.ray.to_owned(),
            action: "log".to_owned(),
            source: "dlp".to_owned(),
            service: "Data Loss Protection".to_owned(),
            reference: self.rule.to_owned(),
            path: self.path.to_owned(),
            zone: self.zone.name.to_owned(),
            zone_id: self.zone.zone_id.to_owned(),
            account_id: self.zone.account_id.to_owned(),
            count: self.count as u64,
            ..SecurityRecord::default()
        };
        Some((record, true))
    }

    fn count(&self, metrics: &Metrics) {
        metrics.detections.with_label_values(&[self.rule]).inc_by(self.count as u64);
    }
}
