//! Another name server got a zone, or its last changes.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct ZoneHandedOver {
    pub zone: String,
    #[serde(rename = "ClientIP")]
    pub client: String,
    /// `AXFR` or `IXFR`.
    pub query_type: &'static str,
    pub bytes: usize,
    pub is_signed: bool,
    /// Why it broke off.
    pub error: Option<String>,
}

impl Event for ZoneHandedOver {
    const NAME: &'static str = "zone_handed_over";
    const MESSAGE: &'static str = "zone handed over";
    const LEVEL: Level = Level::Info;

    fn count(&self, metrics: &Metrics) {
        let outcome = if self.error.is_none() { "finished" } else { "failed" };
        metrics.zone_transfers.with_label_values(&[self.query_type, outcome]).inc();
    }
}
