//! A request was answered: the access log.

use serde::Serialize;

use crate::events::status_label;
use crate::events::{AccessEntry, Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct RequestFinished<'a> {
    #[serde(rename = "RayID")]
    pub ray: &'a str,
    /// Of the trace that it is in, if spans are kept.
    #[serde(rename = "TraceID", skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    #[serde(rename = "ClientIP")]
    pub client: &'a str,
    #[serde(rename = "ClientRequestMethod")]
    pub method: &'a str,
    #[serde(rename = "ClientRequestHost")]
    pub host: &'a str,
    #[serde(rename = "ClientRequestPath")]
    pub path: &'a str,
    #[serde(rename = "ClientRequestProtocol")]
    pub protocol: &'a str,
    #[serde(rename = "EdgeResponseStatus")]
    pub status: u16,
    /// 0 if no origin answered.
    #[serde(rename = "OriginResponseStatus")]
    pub origin_status: u16,
    /// Where the answer came from, if the zone keeps responses.
    #[serde(rename = "CacheCacheStatus", skip_serializing_if = "Option::is_none")]
    pub cache_status: Option<&'static str>,
    #[serde(rename = "EdgeResponseBytes")]
    pub bytes: usize,
    /// A configured zone, `gateway`, `names` or `unknown`.
    pub zone: &'a str,
    /// `pass`, `log`, `block` or `refused`.
    pub verdict: &'static str,
    pub duration_ms: f64,
    pub error: Option<String>,
    pub snapshot: u64,
    // What only an access log says.
    #[serde(skip)]
    pub query: &'a str,
    /// Who showed a password of the zone; empty if nobody did.
    #[serde(skip)]
    pub user: &'a str,
    #[serde(skip)]
    pub referer: &'a [u8],
    #[serde(skip)]
    pub user_agent: &'a [u8],
    /// Rules that led the request elsewhere, or changed something of it or its answer.
    #[serde(rename = "Rules", skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<ChangingRule<'a>>,
}

impl RequestFinished<'_> {
    /// What an access log can say, by name.
    pub const FIELDS: &'static [&'static str] = &[
        "time",
        "level",
        "msg",
        "event",
        "RayID",
        "TraceID",
        "ClientIP",
        "ClientUser",
        "ClientRequestMethod",
        "ClientRequestHost",
        "ClientRequestPath",
        "ClientRequestURI",
        "ClientRequestProtocol",
        "ClientRequestReferer",
        "ClientRequestUserAgent",
        "EdgeResponseStatus",
        "EdgeResponseBytes",
        "OriginResponseStatus",
        "CacheCacheStatus",
        "zone",
        "verdict",
        "duration_ms",
        "error",
        "snapshot",
        "Rules",
    ];
}

/// A rule that changed something.
#[derive(Debug, Serialize)]
pub struct ChangingRule<'a> {
    pub phase: &'static str,
    pub action: &'static str,
    pub ruleset: &'a str,
    pub rule: &'a str,
    pub description: &'a str,
}

impl Event for RequestFinished<'_> {
    const NAME: &'static str = "request";
    const MESSAGE: &'static str = "request answered";
    const LEVEL: Level = Level::Info;

    fn access(&self) -> Option<AccessEntry<'_>> {
        Some(AccessEntry {
            client: self.client,
            user: self.user,
            method: self.method,
            target: (self.path, self.query),
            protocol: self.protocol,
            status: self.status,
            bytes: self.bytes,
            referer: self.referer,
            user_agent: self.user_agent,
        })
    }

    fn count(&self, metrics: &Metrics) {
        metrics.requests.with_label_values(&[self.zone, status_label(self.status), self.verdict]).inc();
        metrics.request_duration.with_label_values(&[self.zone]).observe(self.duration_ms / 1000.0);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn every_field_can_be_chosen() {
        let finished = RequestFinished {
            ray: "",
            trace: Some(String::new()),
            client: "",
            method: "",
            host: "",
            path: "",
            protocol: "",
            status: 200,
            origin_status: 200,
            cache_status: Some("HIT"),
            bytes: 0,
            zone: "",
            verdict: "",
            duration_ms: 0.0,
            error: None,
            snapshot: 1,
            query: "",
            user: "",
            referer: b"",
            user_agent: b"",
            rules: vec![ChangingRule { phase: "", action: "", ruleset: "", rule: "", description: "" }],
        };
        let Value::Object(fields) = json!(finished) else { panic!("an event is an object") };
        assert!(fields.len() > 15);
        for name in fields.keys() {
            assert!(RequestFinished::FIELDS.contains(&name.as_str()), "{name}");
        }
    }
}
