//! A response body was not scanned, though its zone asks for it.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct ScanSkipped {
    pub reason: SkipReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// The queue of bodies was full.
    QueueFull,
    /// Not text, HTML, JSON or XML.
    ContentType,
    /// A content coding that is not understood.
    ContentCoding,
    /// Decoding grew past its limit; what came out before was scanned.
    DecompressionBomb,
    /// Only the first part was scanned: the body was longer than the limit.
    Truncated,
    /// The body asked for more work than one may; some rules were not tried to its end.
    Exhausted,
    /// The same body was scanned for the same before.
    Identical,
    /// Not one of those that the zone's sample takes.
    Sampled,
}

impl SkipReason {
    pub fn word(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::ContentType => "content_type",
            Self::ContentCoding => "content_coding",
            Self::DecompressionBomb => "decompression_bomb",
            Self::Truncated => "truncated",
            Self::Exhausted => "exhausted",
            Self::Identical => "identical",
            Self::Sampled => "sampled",
        }
    }
}

impl Event for ScanSkipped {
    const NAME: &'static str = "scan_skipped";
    const MESSAGE: &'static str = "response not scanned";
    const LEVEL: Level = Level::Debug;

    fn count(&self, metrics: &Metrics) {
        metrics.scans_skipped.with_label_values(&[self.reason.word()]).inc();
    }
}
