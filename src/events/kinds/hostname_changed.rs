//! A custom hostname became another status.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct HostnameChanged {
    pub hostname: String,
    pub id: String,
    pub zone: String,
    pub from: &'static str,
    pub to: &'static str,
    /// Why it is not active; empty if it is.
    pub errors: String,
}

impl Event for HostnameChanged {
    const NAME: &'static str = "hostname_changed";
    const MESSAGE: &'static str = "custom hostname changed its status";
    const LEVEL: Level = Level::Info;

    fn count(&self, metrics: &Metrics) {
        metrics.hostnames_changed.with_label_values(&[self.to]).inc();
    }
}
