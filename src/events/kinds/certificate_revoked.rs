//! The certificates of a pack were revoked.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct CertificateRevoked {
    pub pack: String,
    /// With spaces between them.
    pub hosts: String,
}

impl Event for CertificateRevoked {
    const NAME: &'static str = "certificate_revoked";
    const MESSAGE: &'static str = "certificate revoked";
    const LEVEL: Level = Level::Warn;

    fn count(&self, metrics: &Metrics) {
        metrics.certificates_revoked.inc();
    }
}
