//! Portcullis answered a request itself, with a refusal.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct RequestRefused<'a> {
    #[serde(rename = "RayID")]
    pub ray: &'a str,
    #[serde(rename = "ClientIP")]
    pub client: &'a str,
    /// One of the words of `proxy::refusal`.
    pub reason: &'static str,
    pub status: u16,
}

impl Event for RequestRefused<'_> {
    const NAME: &'static str = "request_refused";
    const LEVEL: Level = Level::Info;

    fn count(&self, metrics: &Metrics) {
        metrics.refusals.with_label_values(&[self.reason]).inc();
    }
}
