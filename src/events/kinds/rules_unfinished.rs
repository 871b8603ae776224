//! The time that a request may spend in rules was over before all of them were asked.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct RulesUnfinished<'a> {
    #[serde(rename = "RayID")]
    pub ray: &'a str,
    /// The rule that was running when the time was over.
    #[serde(rename = "Ref")]
    pub rule: String,
    /// Spent in rules.
    pub microseconds: u64,
}

impl Event for RulesUnfinished<'_> {
    const NAME: &'static str = "rules_unfinished";
    const MESSAGE: &'static str = "rules ran out of time";
    const LEVEL: Level = Level::Warn;

    fn count(&self, metrics: &Metrics) {
        metrics.rules_unfinished.inc();
    }
}
