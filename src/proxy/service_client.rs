//! Exchanges with services of the operator that say whether something may go on.

use bytes::{Bytes, BytesMut};
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::protocols::http::client::HttpSession;
use pingora::{Error, ErrorType, Result};

use super::context::Context;
use crate::clock::Clock;
use crate::upstream::{Origin, kept_connections, peer};
use model::origin_url::is_private;

/// Asks services, over connections that are kept.
pub(super) struct ServiceClient {
    clock: Clock,
}

/// What a service is asked, and how much of its answer is read.
pub(super) struct ServiceRequest {
    pub(super) head: RequestHeader,
    pub(super) body: Option<Bytes>,
    pub(super) max_answer_bytes: usize,
    /// Whether the service may be on this machine or in a private network.
    pub(super) may_be_private: bool,
}

/// What a service answered.
pub(super) struct ServiceAnswer {
    pub(super) head: ResponseHeader,
    pub(super) body: Bytes,
}

impl ServiceClient {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock }
    }

    /// Asks a service; how long it may take is up to the caller.
    ///
    /// # Errors
    /// If it cannot be reached, breaks off, or answers with more than is read.
    pub(super) async fn ask(
        &self,
        origin: &Origin,
        request: &ServiceRequest,
        ctx: &Context,
    ) -> Result<ServiceAnswer> {
        let no_address = |reason| Error::explain(ErrorType::ConnectError, reason);
        let address = origin.address(self.clock.unix()).await.map_err(no_address)?;
        // What the name resolves to counts, not what it looks like.
        if is_private(address.ip()) && !request.may_be_private {
            return Error::e_explain(ErrorType::ConnectError, "the service is at a private address");
        }
        let peer = peer::peer(origin, address, &ctx.snapshot.upstream);
        // A connection that was kept may be closed by now; a new one is not.
        let (mut upstream, is_reused) = kept_connections().get_http_session(&peer).await?;
        let answer = match exchange(&mut upstream, request).await {
            Err(_) if is_reused => {
                upstream = kept_connections().get_http_session(&peer).await?.0;
                exchange(&mut upstream, request).await?
            }
            answer => answer?,
        };
        let idle_timeout = Some(ctx.snapshot.upstream.idle_timeout);
        kept_connections().release_http_session(upstream, &peer, idle_timeout).await;
        Ok(answer)
    }
}

async fn exchange(upstream: &mut HttpSession, request: &ServiceRequest) -> Result<ServiceAnswer> {
    peer::exchange_heads(upstream, request.head.clone(), request.body.clone().unwrap_or_default()).await?;
    let head = upstream.response_header().cloned();
    let head = head.ok_or_else(|| Error::explain(ErrorType::InvalidHTTPHeader, "no answer"))?;
    let mut body = BytesMut::new();
    while let Some(chunk) = upstream.read_response_body().await? {
        body.extend_from_slice(&chunk);
        if body.len() > request.max_answer_bytes {
            return Error::e_explain(ErrorType::InternalError, "the answer of a service is too long");
        }
    }
    Ok(ServiceAnswer { head, body: body.freeze() })
}
