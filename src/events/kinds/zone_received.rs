//! A zone was received from another name server, or could not be.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct ZoneReceived {
    pub zone: String,
    pub peer: String,
    /// `None` if nothing was received.
    pub serial: Option<u32>,
    /// Records of types that are not served here.
    pub skipped: usize,
    pub error: Option<String>,
}

impl Event for ZoneReceived {
    const NAME: &'static str = "zone_received";
    const MESSAGE: &'static str = "zone received";
    const LEVEL: Level = Level::Info;

    fn count(&self, metrics: &Metrics) {
        let outcome = if self.error.is_none() { "received" } else { "failed" };
        metrics.zones_received.with_label_values(&[outcome]).inc();
    }
}
