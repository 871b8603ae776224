//! Kept responses of a zone, dropped before their time.

use serde::Serialize;
use serde_json::Value;

use super::{rule_input, shapes};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error;
use crate::api::input::Fields;
use crate::api::operation::{Answer, ApiCall, InputShape, Operation, ResultKind, Verb};
use crate::events::kinds::CachePurged;
use crate::response_cache::Purge;

/// Most names in one request.
const MAX_NAMES: usize = 500;

pub(super) const OPERATIONS: &[Operation] = &[Operation {
    verb: Verb::Post,
    path: "/zones/{zone_id}/purge_cache",
    summary: "Drops kept responses of a zone: all, or those of URLs, hosts, prefixes or tags.",
    permission: Permission::CachePurge,
    query: &[],
    input: Some(InputShape::Object(shapes::PURGE)),
    output: ResultKind::One(shapes::PURGED),
    run: |call| Box::pin(async move { purge(&call) }),
}];

#[derive(Debug, Serialize)]
struct ShownPurge<'a> {
    /// Of the zone.
    id: &'a str,
}

fn purge(call: &ApiCall) -> Answer {
    let zone = call.zone()?;
    let id = zone.id.to_string();
    let (purge, unknown) = rule_input::read(&call.body, |fields| purge_input(fields, &id))?;
    let responses = call.shared.response_cache.purge(&purge);
    call.shared.events.emit(&CachePurged {
        zone: &zone.name,
        zone_id: &id,
        actor: call.actor.label(),
        everything: purge.everything,
        responses,
    });
    Ok(ApiReply::of(&ShownPurge { id: &id })?.passing_over(unknown))
}

fn purge_input(fields: &Fields<'_>, zone_id: &str) -> Option<Purge> {
    let texts = |name| fields.texts(name).unwrap_or_default();
    let purge = Purge {
        zone_id: zone_id.to_owned(),
        everything: fields.bool("purge_everything").unwrap_or(false),
        urls: urls(fields),
        hosts: texts("hosts"),
        prefixes: texts("prefixes"),
        tags: texts("tags"),
    };
    let named = [purge.urls.len(), purge.hosts.len(), purge.prefixes.len(), purge.tags.len()];
    let count: usize = named.iter().sum();
    if count > MAX_NAMES {
        let message = format!("{count} names in one request; send at most {MAX_NAMES}");
        fields.refuse(error::BAD_FIELD, "files", message);
    }
    let has_lists = ["files", "hosts", "prefixes", "tags"].iter().any(|name| fields.has(name));
    if !purge.everything && !has_lists {
        let message = "expected `purge_everything: true`, or a list `files`, `hosts`, `prefixes` or `tags`";
        fields.refuse(error::BAD_FIELD, "purge_everything", message);
    }
    if let Some(nth) = purge.prefixes.iter().position(|prefix| prefix.contains("://")) {
        let message = "expected a host and a path such as `shop.example/images/`, without a scheme";
        fields.refuse(error::BAD_FIELD, &format!("prefixes/{nth}"), message);
    }
    Some(purge)
}

/// The URLs of `files`: texts, or objects with a `url`.
fn urls(fields: &Fields<'_>) -> Vec<http::Uri> {
    let mut urls = Vec::new();
    for (nth, file) in fields.list("files").unwrap_or_default().iter().enumerate() {
        let text = file.as_str().or_else(|| file.get("url").and_then(Value::as_str)).unwrap_or("");
        let url = text.parse::<http::Uri>().ok();
        match url.filter(|url| url.host().is_some() && matches!(url.scheme_str(), Some("http" | "https"))) {
            Some(url) => urls.push(url),
            None => {
                let message =
                    format!("expected a URL such as `https://shop.example/a.css`, found `{text:.200}`");
                fields.refuse(error::BAD_FIELD, &format!("files/{nth}"), message);
            }
        }
    }
    urls
}
