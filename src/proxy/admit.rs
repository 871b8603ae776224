//! The last look before any rule: heads that came in frames, and the host.

use pingora::proxy::Session;

use super::context::Context;
use super::headers;
use crate::admission::{self, parsed};
use crate::listener::{ConnectionMeta, address_text, is_multiplexed};

/// Notes who a request is from; returns why its head is refused, if the connection has seen that it is.
pub(super) fn note_client(session: &Session, ctx: &mut Context) -> Option<admission::Refused> {
    let mut refused = None;
    if let Some(meta) = ConnectionMeta::of(session.digest()) {
        if session.is_http2() {
            meta.progress.count_stream();
        }
        refused = meta.progress.refused();
        ctx.peer = meta.source;
        ctx.client_text = meta.source_text.clone();
        (ctx.tls, ctx.is_tls_1_3) = (meta.tls, meta.is_tls_1_3);
        ctx.client_certificates.clone_from(&meta.client_certificates);
        ctx.alternative.clone_from(&meta.alternative);
    }
    ctx.server = session.server_addr().and_then(|address| address.as_inet()).map(|address| address.ip());
    ctx.client = headers::client(ctx.peer, &session.req_header().headers, &ctx.snapshot.trusted_proxies);
    if ctx.client != ctx.peer {
        ctx.client_text = address_text(ctx.client);
    }
    refused
}

/// Admits a request: its host in normal form.
pub(super) fn admit(session: &Session, ctx: &Context) -> Result<String, admission::Refused> {
    let limits = admission::HeadLimits::from(&ctx.snapshot.limits);
    let request = session.req_header();
    let authority = request.uri.authority().map(http::uri::Authority::as_str);
    // A head of HTTP/1 was judged as it came in.
    if is_multiplexed(session) {
        let method = request.method.as_str();
        let head = parsed::Head { method, target: request.raw_path(), authority, headers: &request.headers };
        parsed::check(head, limits)?;
    }
    let host = request.headers.get(http::header::HOST).map(http::HeaderValue::to_str);
    let host = match (host, authority) {
        (Some(Ok(host)), _) => host,
        (Some(Err(_)), _) => return Err(admission::Refused::BadHost),
        (None, Some(authority)) => authority,
        // Only HTTP/1.0 gets here.
        (None, None) => return Err(admission::Refused::MissingHost),
    };
    admission::host::normal_form(host, &mut String::new()).map(str::to_owned)
}
