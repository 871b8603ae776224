//! A changed configuration was refused; the snapshot in use goes on.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct SnapshotRefused {
    /// The diagnostics, one text each.
    pub diagnostics: Vec<String>,
}

impl Event for SnapshotRefused {
    const NAME: &'static str = "snapshot_refused";
    const MESSAGE: &'static str = "configuration refused";
    const LEVEL: Level = Level::Error;

    fn count(&self, metrics: &Metrics) {
        metrics.snapshots_refused.inc();
    }
}
