//! A response carried sensitive data that was reported for its path a short while ago.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct SensitiveDataRepeated<'a> {
    #[serde(rename = "RayID")]
    pub ray: &'a str,
    #[serde(rename = "Ref")]
    pub rule: &'a str,
    /// How often the rule matched in this body.
    pub count: usize,
}

impl Event for SensitiveDataRepeated<'_> {
    const NAME: &'static str = "sensitive_data_repeated";
    const LEVEL: Level = Level::Debug;

    fn count(&self, metrics: &Metrics) {
        metrics.detections.with_label_values(&[self.rule]).inc_by(self.count as u64);
    }
}
