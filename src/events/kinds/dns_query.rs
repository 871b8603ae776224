//! A query of a resolver was answered, and is one of those that are logged.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct DnsQuery<'a> {
    /// `None` if the question was not understood.
    pub name: Option<String>,
    /// A word of a fixed list, or `other`.
    pub query_type: &'static str,
    pub code: &'static str,
    pub protocol: &'a str,
    #[serde(rename = "ClientIP")]
    pub client: String,
    pub zone: Option<String>,
    pub bytes: usize,
    pub is_truncated: bool,
}

impl Event for DnsQuery<'_> {
    const NAME: &'static str = "dns_query";
    const MESSAGE: &'static str = "DNS query answered";
    const LEVEL: Level = Level::Info;

    fn count(&self, _: &Metrics) {}
}
