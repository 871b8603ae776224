//! Where spans of requests and lines of the log go.

use model::Secret;

/// The collector, and which requests have spans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracingSettings {
    /// Where OTLP is taken over HTTP, path included.
    pub url: String,
    /// The same for lines of the log; `None` if they go nowhere.
    pub logs_url: Option<String>,
    /// The value of `Authorization` for the collector.
    pub authorization: Option<Secret>,
    pub service_name: String,
    /// One in this many requests has spans.
    pub sample_every: u64,
}
