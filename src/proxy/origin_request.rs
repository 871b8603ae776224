//! What an origin is told.

use pingora::Result;
use pingora::http::RequestHeader;

use super::context::Context;
use super::{basic_auth, field_edits, forward_auth, headers, zone_traffic};

/// Makes the request of a client one for an origin.
pub(super) fn to_origin(request: &mut RequestHeader, ctx: &mut Context) -> Result<()> {
    // Each attempt sends the body from its beginning.
    ctx.uploaded_bytes = 0;
    if let Some(stream) = &mut ctx.messages {
        stream.restart();
    }
    if ctx.body.is_held() {
        // If the client waited for `100 Continue` it has it: the origin gets the body at once.
        request.remove_header("expect");
    }
    headers::origin_form(request)?;
    headers::forward(request, forwarded(ctx))?;
    zone_traffic::tell_origin(request, ctx)?;
    basic_auth::tell_user(request, ctx)?;
    forward_auth::tell_fields(request, ctx)?;
    field_edits::edit_request(request, &ctx.field_edits)?;
    match &ctx.decisions.origin.host_header {
        Some(host) => headers::tell_host(request, host),
        None => Ok(()),
    }
}

/// What is told of the client of a request.
pub(super) fn forwarded(ctx: &Context) -> headers::Forwarded<'_> {
    headers::Forwarded {
        peer: ctx.peer,
        client: &ctx.client_text,
        peer_is_trusted: ctx.snapshot.trusted_proxies.iter().any(|network| network.contains(&ctx.peer)),
        tls: ctx.tls,
        host: &ctx.host,
        ray: &ctx.ray,
    }
}
