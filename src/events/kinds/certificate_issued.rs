//! A CA made a certificate.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct CertificateIssued {
    pub pack: String,
    /// With spaces between them.
    pub hosts: String,
    pub authority: String,
    /// RFC 3339.
    pub expires: String,
}

impl Event for CertificateIssued {
    const NAME: &'static str = "certificate_issued";
    const MESSAGE: &'static str = "certificate issued";
    const LEVEL: Level = Level::Info;

    fn count(&self, metrics: &Metrics) {
        metrics.certificates_issued.with_label_values(&[&self.authority]).inc();
    }
}
