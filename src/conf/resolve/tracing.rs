//! `[tracing]` resolved.

use super::Resolving;
use crate::conf::TracingSettings;
use crate::conf::table::Located;
use crate::conf::tracing_file::TracingFile;
use model::Secret;
use model::origin_url::OriginUrl;

/// Where collectors take spans and logs if the URL has no path (OTLP specification, "OTLP/HTTP request").
const TRACES_PATH: &str = "/v1/traces";
const LOGS_PATH: &str = "/v1/logs";

impl Resolving<'_> {
    pub(super) fn tracing(&mut self, file: TracingFile) -> TracingSettings {
        let url = self.collector(&file.endpoint, "endpoint", TRACES_PATH);
        let logs_url = file.logs_endpoint.map(|logs| self.collector(&logs, "logs_endpoint", LOGS_PATH));
        TracingSettings {
            url,
            logs_url,
            authorization: self.authorization(file.authorization, "tracing"),
            service_name: file.service_name,
            sample_every: file.sample_every as u64,
        }
    }

    /// The value of the field `Authorization`, by which a service knows the edge.
    pub(super) fn authorization(&mut self, written: Option<Located<String>>, table: &str) -> Option<Secret> {
        let Located { value, place } = written?;
        if http::HeaderValue::from_str(&value).is_err() {
            self.bad(&place, format!("`{table}.authorization` takes what a field may have as its value"));
        }
        Some(Secret::new(value))
    }

    /// The URL of a collector, with the usual path if it has none.
    fn collector(&mut self, written: &Located<String>, key: &str, usual_path: &str) -> String {
        match OriginUrl::parse(&written.value) {
            Ok(url) if url.path.is_empty() => written.value.trim_end_matches('/').to_owned() + usual_path,
            Ok(_) => written.value.clone(),
            Err(message) => {
                self.bad(&written.place, format!("`tracing.{key}`: {message}"));
                written.value.clone()
            }
        }
    }
}
