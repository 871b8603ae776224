//! The collectors of a gateway's spans: as bodies write them, as answers show them, and as they are kept.
//!
//! Values of fields are secrets: answers have an empty text for each, and a body that has one keeps the value that is known.

use std::collections::BTreeMap;

use gateway::vault::MasterKey;
use model::gateway::GatewaySettings;
use model::origin_url::place_and_target;
use model::{AccountId, GatewayId, Secret, SpanCollector};
use serde::Serialize;
use serde_json::Value;

use crate::ai::collector_secrets;
use crate::api::error::{self, ApiError};
use crate::api::input::Fields;

const AUTHORIZATION: &str = "authorization";

/// A collector as answers show it.
#[derive(Debug, Serialize)]
pub(super) struct ShownCollector<'a> {
    url: &'a str,
    authorization: &'static str,
    headers: BTreeMap<&'a str, &'static str>,
    content_type: &'static str,
}

/// The collectors of a gateway; nothing if it has none.
pub(super) fn shown(settings: &GatewaySettings) -> Option<Vec<ShownCollector<'_>>> {
    let collectors = settings.otel.iter().map(|collector| {
        let names = collector.fields.keys().chain(collector.sealed_fields.keys());
        let headers = names.filter(|name| *name != AUTHORIZATION).map(|name| (name.as_str(), ""));
        ShownCollector {
            url: &collector.url,
            authorization: "",
            headers: headers.collect(),
            content_type: "json",
        }
    });
    Some(collectors.collect()).filter(|collectors: &Vec<_>| !collectors.is_empty())
}

/// Reads the collectors of a body; those that it does not have stay, `null` takes them away.
pub(super) fn read(fields: &Fields<'_>, settings: &mut GatewaySettings) {
    if !fields.has("otel") {
        return;
    }
    let known = std::mem::take(&mut settings.otel);
    let Some(written) = fields.objects("otel") else { return };
    if written.len() > SpanCollector::MAX {
        let message = format!("a gateway has at most {} collectors", SpanCollector::MAX);
        fields.refuse(error::BAD_FIELD, "otel", message);
        return;
    }
    let collectors = written.iter().enumerate().filter_map(|(nth, fields)| {
        // One that was read is written back to its place; only one that moved is looked for among the others.
        collector(fields, known.get(nth).into_iter().chain(&known))
    });
    settings.otel = collectors.collect();
}

/// Reads a collector, with the secrets of the first of `known` at its host.
fn collector<'k>(
    fields: &Fields<'_>,
    mut known: impl Iterator<Item = &'k SpanCollector>,
) -> Option<SpanCollector> {
    let url = fields.required_text("url").filter(|url| {
        let checked =
            place_and_target(url).map_err(|problem| fields.refuse(error::BAD_FIELD, "url", problem));
        checked.is_ok()
    });
    if fields.text("content_type").is_some_and(|form| form != "json") {
        let message = "expected `json`: the edge sends OTLP as JSON, which collectors take at the same path";
        fields.refuse(error::BAD_FIELD, "content_type", message);
    }
    let mut made = SpanCollector { url: url?.to_owned(), ..SpanCollector::default() };
    // Secrets stay at their host, because who points a collector elsewhere must not learn them.
    let host = collector_secrets::authority(&made).ok();
    let known = known.find(|known| collector_secrets::authority(known).ok() == host);
    let mut add = |name: &str, value: &str, at: &str| {
        let name = name.to_ascii_lowercase();
        let sealed = known.and_then(|known| known.sealed_fields.get(&name)).filter(|_| value.is_empty());
        match (sealed, SpanCollector::field_fault(&name, value)) {
            (Some(sealed), _) => drop(made.sealed_fields.insert(name, sealed.clone())),
            (None, Some(fault)) => fields.refuse(error::BAD_FIELD, at, format!("`{name}` {fault}")),
            (None, None) if value.is_empty() && name == AUTHORIZATION => {}
            (None, None) if value.is_empty() => {
                fields.refuse(error::BAD_FIELD, at, "expected a value: none is known for this host");
            }
            (None, None) => drop(made.fields.insert(name, Secret::new(value))),
        }
    };
    match fields.value("headers") {
        None => {}
        Some(Value::Object(headers)) if headers.len() <= SpanCollector::MAX_FIELDS => {
            for (name, value) in headers {
                match value.as_str() {
                    Some(value) => add(name, value, "headers"),
                    None => fields.refuse(error::BAD_FIELD, "headers", format!("`{name}` takes a text")),
                }
            }
        }
        Some(_) => {
            let message =
                format!("expected an object of names and texts, at most {}", SpanCollector::MAX_FIELDS);
            fields.refuse(error::BAD_FIELD, "headers", message);
        }
    }
    if let Some(value) = fields.text(AUTHORIZATION) {
        add(AUTHORIZATION, value, AUTHORIZATION);
    }
    Some(made)
}

/// The settings as they are kept.
///
/// # Errors
/// If there is something to seal, and nothing to seal it with.
pub(super) fn sealed(
    mut settings: GatewaySettings,
    account: &AccountId,
    gateway: &GatewayId,
    master: Option<&MasterKey>,
) -> Result<GatewaySettings, ApiError> {
    for (nth, collector) in settings.otel.iter_mut().enumerate().filter(|(_, made)| !made.fields.is_empty()) {
        let master = master.ok_or_else(|| ApiError::no_secrets_key(format!("/otel/{nth}")))?;
        let here = (account.as_str(), gateway.as_str());
        *collector = collector_secrets::kept(std::mem::take(collector), here, master)
            .map_err(|message| ApiError::new(error::UNAVAILABLE, message))?;
    }
    Ok(settings)
}
