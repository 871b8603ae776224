//! Scans of responses for sensitive data, beside the responses: a queue, its threads, what they remember of
//! bodies, and the events. The scanner itself is [`detection`]. No byte is delayed.

mod queue;
mod recent;
mod report;
mod seen;

pub use queue::{Limits, ScanQueue, Scanners, Tee};
pub use report::{Subject, report};
