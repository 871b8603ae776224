//! A new snapshot is in use.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct SnapshotPublished {
    pub revision: u64,
    pub zones: usize,
    pub gateways: usize,
    pub rules: usize,
    pub duration_ms: f64,
    /// Settings that changed but wait for a restart.
    pub needs_restart: Vec<&'static str>,
    #[serde(skip)]
    pub unix_seconds: i64,
}

impl Event for SnapshotPublished {
    const NAME: &'static str = "snapshot_published";
    const MESSAGE: &'static str = "configuration in use";
    const LEVEL: Level = Level::Info;

    fn count(&self, metrics: &Metrics) {
        metrics.snapshot_revision.set(i64::try_from(self.revision).unwrap_or(i64::MAX));
        metrics.snapshot_published.set(self.unix_seconds);
    }
}
