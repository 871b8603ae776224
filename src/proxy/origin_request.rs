//! What an origin is told.

use std::net::{Ipv4Addr, SocketAddr};

use pingora::Result;
use pingora::http::RequestHeader;
use pingora::protocols::l4::socket::SocketAddr as PeerAddress;
use pingora::proxy::Session;
use pingora::upstreams::peer::HttpPeer;

use super::context::Context;
use super::{basic_auth, field_edits, forward_auth, headers, zone_traffic};
use crate::upstream::Pool;
use crate::upstream::proxy_header::{self, ClientConnection};
use model::OriginProxyProtocol;

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
        peer_is_trusted: ctx.peer_is_trusted(),
        tls: ctx.tls,
        host: &ctx.host,
        ray: &ctx.ray,
        loop_name: &ctx.loop_name,
    }
}

/// Has connections to an origin begin with who the client is, if its pool says so.
pub(super) fn begin_connection(peer: &mut HttpPeer, pool: &Pool, session: &Session, ctx: &Context) {
    if pool.proxy_protocol == OriginProxyProtocol::Off {
        return;
    }
    let address = |known: Option<&PeerAddress>| known.and_then(PeerAddress::as_inet).copied();
    let connected = address(session.client_addr());
    // Who is spoken for by a proxy has no port that is known.
    let port = connected.filter(|from| from.ip() == ctx.client).map_or(0, |from| from.port());
    let client = SocketAddr::new(ctx.client, port);
    let server = address(session.server_addr()).unwrap_or(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0));
    let of = ClientConnection { client, server };
    proxy_header::begin_with(peer, pool.proxy_protocol, Some(of));
}
