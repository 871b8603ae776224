//! A NOTIFY message was sent to another name server.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct ZoneNotified {
    pub zone: String,
    pub peer: String,
    pub serial: u32,
    pub is_answered: bool,
}

impl Event for ZoneNotified {
    const NAME: &'static str = "zone_notified";
    const MESSAGE: &'static str = "zone change announced";
    const LEVEL: Level = Level::Info;

    fn count(&self, metrics: &Metrics) {
        let outcome = if self.is_answered { "answered" } else { "unanswered" };
        metrics.zone_notifications.with_label_values(&[outcome]).inc();
    }
}
