//! `[[gateways.otel]]` resolved.

use std::collections::BTreeMap;

use super::Resolving;
use crate::conf::gateway_file::SpanCollectorFile;
use model::origin_url::place_and_target;
use model::{Secret, SpanCollector};

impl Resolving<'_> {
    /// Who gets spans of the calls of a gateway.
    pub(super) fn span_collectors(&mut self, files: Vec<SpanCollectorFile>) -> Vec<SpanCollector> {
        let mut collectors = Vec::new();
        for (nth, file) in files.into_iter().enumerate() {
            if nth == SpanCollector::MAX {
                let message =
                    format!("a gateway has at most {} collectors: leave this one out", SpanCollector::MAX);
                self.bad(&file.url.place, message);
            }
            if let Err(message) = place_and_target(&file.url.value) {
                self.bad(&file.url.place, format!("`gateways.otel.url`: {message}"));
            }
            let authorization = self.authorization(file.authorization, "gateways.otel");
            let place = file.headers.as_ref().map(|headers| headers.place.clone());
            let mut fields: BTreeMap<String, Secret> =
                file.headers.map(|headers| headers.value).unwrap_or_default();
            for (name, value) in &fields {
                if let (Some(fault), Some(place)) = (SpanCollector::field_fault(name, value.expose()), &place)
                {
                    self.bad(place, format!("`gateways.otel.headers`: `{name}` {fault}"));
                }
            }
            if let Some(place) = place.filter(|_| fields.len() > SpanCollector::MAX_FIELDS) {
                let message = format!("`gateways.otel.headers` takes at most {}", SpanCollector::MAX_FIELDS);
                self.bad(&place, message);
            }
            fields.extend(authorization.map(|secret| ("authorization".to_owned(), secret)));
            let (url, sealed_fields) = (file.url.value, BTreeMap::new());
            collectors.push(SpanCollector { url, fields, sealed_fields, may_be_private: true });
        }
        collectors
    }
}
