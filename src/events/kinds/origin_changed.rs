//! An origin began or ceased to take requests.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct OriginChanged<'a> {
    pub zone: &'a str,
    pub origin: &'a str,
    pub up: bool,
    pub reason: &'static str,
}

impl Event for OriginChanged<'_> {
    const NAME: &'static str = "origin_changed";
    const MESSAGE: &'static str = "origin changed its state";
    const LEVEL: Level = Level::Warn;

    fn count(&self, metrics: &Metrics) {
        metrics.origin_up.with_label_values(&[self.zone, self.origin]).set(i64::from(self.up));
    }
}
