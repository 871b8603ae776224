//! What rules are asked of: a request, and its response if there is one, as expressions see them.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::proxy::Session;

use super::context::Context;
use super::headers;
use crate::geo::GeoDatabases;
use crate::ruleset::Run;
use expression::{AnomalyScore, Expression, Facts, ReadBody};
use seclang::{RequestHead, ResponseHead};

/// What is known of a request besides its head.
#[derive(Clone, Copy)]
struct KnownOfRequest<'c> {
    host: &'c str,
    tls: bool,
    client: IpAddr,
    server: Option<IpAddr>,
    ray: &'c str,
    sent: Option<&'c [u8]>,
    score: Option<AnomalyScore>,
    body: Option<&'c ReadBody<Bytes>>,
    places: &'c GeoDatabases,
    metadata: Option<&'c str>,
}

/// A request to be asked about on another thread.
pub(super) struct AskedRequest {
    head: RequestHeader,
    received: Duration,
    host: String,
    tls: bool,
    client: IpAddr,
    server: Option<IpAddr>,
    ray: String,
    sent: Option<Vec<u8>>,
    score: Option<AnomalyScore>,
    body: Option<Arc<ReadBody<Bytes>>>,
    places: Arc<GeoDatabases>,
    metadata: Option<Arc<str>>,
}

impl AskedRequest {
    pub(super) fn new(head: &RequestHeader, received: Duration, ctx: &Context) -> Self {
        Self {
            head: head.clone(),
            received,
            host: ctx.host.clone(),
            tls: ctx.tls,
            client: ctx.client,
            server: ctx.server,
            ray: ctx.ray.clone(),
            sent: ctx.sent_target.clone(),
            score: ctx.rules.as_ref().map(Run::found),
            body: ctx.read_body.clone(),
            places: Arc::clone(&ctx.snapshot.geo),
            metadata: ctx.hostname_metadata().cloned(),
        }
    }

    pub(super) fn ask<T>(&self, ask: impl FnOnce(&Facts<'_>) -> T) -> T {
        let known = KnownOfRequest {
            host: &self.host,
            tls: self.tls,
            client: self.client,
            server: self.server,
            ray: &self.ray,
            sent: self.sent.as_deref(),
            score: self.score,
            body: self.body.as_deref(),
            places: &self.places,
            metadata: self.metadata.as_deref(),
        };
        ask_with(&self.head, None, self.received, known, ask)
    }
}

/// Asks something of a request, and of its response if there is one.
pub(super) fn with_facts<T>(
    request: &RequestHeader,
    response: Option<&ResponseHeader>,
    now: Duration,
    ctx: &Context,
    ask: impl FnOnce(&Facts<'_>) -> T,
) -> T {
    let known = KnownOfRequest {
        host: &ctx.host,
        tls: ctx.tls,
        client: ctx.client,
        server: ctx.server,
        ray: &ctx.ray,
        sent: ctx.sent_target.as_deref(),
        // At the end of a request its rules are gone, but not what they found.
        score: ctx
            .rules
            .as_ref()
            .map(Run::found)
            .or((ctx.verdict.score.all != 0).then_some(ctx.verdict.score)),
        body: ctx.read_body.as_deref(),
        places: &ctx.snapshot.geo,
        metadata: ctx.hostname_metadata().map(|text| &**text),
    };
    ask_with(request, response, now, known, ask)
}

/// Whether an expression is for a request.
pub(super) fn is_for(expression: &Expression, session: &Session, now: Duration, ctx: &Context) -> bool {
    with_facts(session.req_header(), None, now, ctx, |facts| expression.matches(facts))
}

fn ask_with<T>(
    request: &RequestHeader,
    response: Option<&ResponseHeader>,
    now: Duration,
    known: KnownOfRequest<'_>,
    ask: impl FnOnce(&Facts<'_>) -> T,
) -> T {
    let fields = headers::fields(request, known.host);
    let head = RequestHead {
        method: request.method.as_str().as_bytes(),
        target: request.raw_path(),
        protocol: headers::protocol(request.version),
        headers: &fields,
        client: known.client,
        server: known.server,
        request_id: known.ray,
        received: now,
    };
    let fields = response.map(headers::response_fields).unwrap_or_default();
    let response = response.map(|response| ResponseHead {
        status: response.status.as_u16(),
        protocol: headers::protocol(response.version),
        headers: &fields,
    });
    let mut facts = Facts::new(&head, known.host);
    (facts.sent, facts.tls, facts.response) = (known.sent, known.tls, response.as_ref());
    (facts.score, facts.hostname_metadata) = (known.score, known.metadata);
    ask(&facts.with_body(known.body).with_places(Some(known.places)))
}
