//! `[tracing]` resolved.

use super::Resolving;
use crate::conf::TracingSettings;
use crate::conf::tracing_file::TracingFile;
use model::Secret;
use model::origin_url::OriginUrl;

/// Where collectors take spans if the URL has no path (OTLP specification, "OTLP/HTTP request").
const USUAL_PATH: &str = "/v1/traces";

impl Resolving<'_> {
    pub(super) fn tracing(&mut self, file: TracingFile) -> TracingSettings {
        let endpoint = file.endpoint;
        let mut url = endpoint.value.clone();
        match OriginUrl::parse(&url) {
            Ok(parsed) if parsed.path.is_empty() => url = url.trim_end_matches('/').to_owned() + USUAL_PATH,
            Ok(_) => {}
            Err(message) => self.bad(&endpoint.place, format!("`tracing.endpoint`: {message}")),
        }
        if let Some(authorization) = &file.authorization
            && http::HeaderValue::from_str(&authorization.value).is_err()
        {
            self.bad(
                &authorization.place,
                "`tracing.authorization` takes what a field may have as its value",
            );
        }
        TracingSettings {
            url,
            authorization: file.authorization.map(|located| Secret::new(located.value)),
            service_name: file.service_name,
            sample_every: file.sample_every as u64,
        }
    }
}
