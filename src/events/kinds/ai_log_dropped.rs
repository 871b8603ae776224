//! Rows of the AI log were lost.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct AiLogDropped {
    pub rows: usize,
    /// `queue_full`, `not_written`, or `ended` for those that the end of the process left.
    pub reason: &'static str,
}

impl Event for AiLogDropped {
    const NAME: &'static str = "ai_log_dropped";
    const MESSAGE: &'static str = "rows of the AI log lost";
    const LEVEL: Level = Level::Warn;

    fn count(&self, metrics: &Metrics) {
        metrics.ai_logs_dropped.with_label_values(&[self.reason]).inc_by(self.rows as u64);
    }
}
