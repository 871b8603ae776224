//! Portcullis answered a request itself, with a refusal.

use serde::Serialize;

use crate::events::{Event, Level, Metrics, ZoneLabel};
use model::SecurityRecord;

#[derive(Debug, Serialize)]
pub struct RequestRefused<'a> {
    #[serde(rename = "RayID")]
    pub ray: &'a str,
    #[serde(rename = "ClientIP")]
    pub client: &'a str,
    /// One of the words of `proxy::refusal`.
    pub reason: &'static str,
    pub status: u16,
    #[serde(skip)]
    pub method: &'a str,
    #[serde(skip)]
    pub host: &'a str,
    #[serde(skip)]
    pub path: &'a str,
    #[serde(skip)]
    pub zone: ZoneLabel<'a>,
}

impl Event for RequestRefused<'_> {
    const NAME: &'static str = "request_refused";
    const MESSAGE: &'static str = "request refused";
    const LEVEL: Level = Level::Info;

    fn record(&self) -> Option<(SecurityRecord, bool)> {
        // What an origin did is no matter of security.
        let is_ours = (400..500).contains(&self.status);
        let record = || SecurityRecord {
            ray: self.ray.to_owned(),
            action: "block".to_owned(),
            source: "edge".to_owned(),
            service: "Edge".to_owned(),
            reference: self.reason.to_owned(),
            description: self.reason.to_owned(),
            client: self.client.to_owned(),
            method: self.method.to_owned(),
            host: self.host.to_owned(),
            path: self.path.to_owned(),
            status: self.status,
            zone: self.zone.name.to_owned(),
            zone_id: self.zone.zone_id.to_owned(),
            account_id: self.zone.account_id.to_owned(),
            count: 1,
            ..SecurityRecord::default()
        };
        is_ours.then(|| (record(), false))
    }

    fn count(&self, metrics: &Metrics) {
        metrics.refusals.with_label_values(&[self.reason]).inc();
    }
}
