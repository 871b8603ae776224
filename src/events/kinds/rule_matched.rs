//! A rule matched: one line for each, whatever became of the request.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct RuleMatched<'a> {
    #[serde(rename = "RayID")]
    pub ray: &'a str,
    /// The rule's own id, as in its file.
    #[serde(rename = "Ref")]
    pub reference: String,
    #[serde(rename = "Description")]
    pub description: &'a str,
    /// `file:line:column`
    pub place: &'a str,
    pub phase: u8,
    pub severity: &'static str,
    pub score: i64,
    pub variable: &'a str,
    /// The rule's `logdata`, expanded.
    pub data: &'a str,
    pub tags: &'a [String],
}

impl Event for RuleMatched<'_> {
    const NAME: &'static str = "rule_matched";
    const MESSAGE: &'static str = "rule matched";
    const LEVEL: Level = Level::Debug;

    fn count(&self, _: &Metrics) {}
}
