//! A CA made no certificate.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct CertificateFailed {
    pub pack: String,
    /// With spaces between them.
    pub hosts: String,
    pub cause: &'static str,
    pub error: String,
    /// How often it was tried since the last success.
    pub attempts: u32,
}

impl Event for CertificateFailed {
    const NAME: &'static str = "certificate_failed";
    const MESSAGE: &'static str = "certificate not issued";
    const LEVEL: Level = Level::Warn;

    fn count(&self, metrics: &Metrics) {
        metrics.certificates_failed.with_label_values(&[self.cause]).inc();
    }
}
