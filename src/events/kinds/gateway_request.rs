//! A request to an AI gateway was answered.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct GatewayRequest<'a> {
    #[serde(rename = "RayID")]
    pub ray: &'a str,
    /// `account/gateway`, or `unknown`.
    pub gateway: &'a str,
    /// A configured provider, or `unknown`.
    pub provider: &'a str,
    /// `forwarded`, `cancelled`, `failed`, or why the gateway refused it.
    pub outcome: &'static str,
    pub status: u16,
    #[serde(skip)]
    pub seconds: f64,
}

impl Event for GatewayRequest<'_> {
    const NAME: &'static str = "gateway_request";
    const MESSAGE: &'static str = "gateway request answered";
    const LEVEL: Level = Level::Info;

    /// Forwarded calls have a line of their own, `ai_call`, if their callers want one.
    fn is_written(&self) -> bool {
        self.outcome != "forwarded"
    }

    fn count(&self, metrics: &Metrics) {
        metrics.gateway_requests.with_label_values(&[self.gateway, self.provider, self.outcome]).inc();
        if self.outcome == "forwarded" {
            metrics.gateway_duration.with_label_values(&[self.gateway, self.provider]).observe(self.seconds);
        }
    }
}
