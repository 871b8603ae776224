//! Services that are asked whether a request may go on, such as a sign-in of several sites.
//!
//! Each is asked with a `GET` that has the fields of the request and says in others what the request is. 2xx lets it go on;
//! any other answer is the client's. One that does not answer lets nothing pass.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use pingora::connectors::http::Connector;
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::protocols::http::client::HttpSession;
use pingora::proxy::Session;
use pingora::upstreams::peer::HttpPeer;
use pingora::{Error, ErrorType, Result};

use super::context::{Context, Route};
use super::facts::is_for;
use super::refusal::Refusal;
use super::{field_edits, headers, origin_request, refuse, tls_only};
use crate::clock::Clock;
use crate::snapshot::{AuthService, CompiledZone};
use crate::upstream::peer;

/// Longest answer that a client gets of a service.
const MAX_ANSWER_BYTES: usize = 1 << 20;
/// Fields of a request that are about its body, which a service does not get, or about the connection.
const OF_BODY: &[HeaderName] = &[
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::EXPECT,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// The step that asks services about requests.
pub(super) struct AuthServices {
    connector: Connector,
    clock: Clock,
}

/// What a service answered.
struct AuthAnswer {
    head: ResponseHeader,
    body: Bytes,
}

impl AuthServices {
    pub(super) fn new(clock: Clock) -> Self {
        Self { connector: Connector::new(None), clock }
    }

    /// Refuses a request that a service does not let go on, with its answer.
    pub(super) async fn check(
        &self,
        zone: &CompiledZone,
        session: &Session,
        ctx: &mut Context,
    ) -> Result<()> {
        for service in &zone.auth_services {
            if !is_for(&service.expression, session, self.clock.unix(), ctx) {
                continue;
            }
            let asked = tokio::time::timeout(service.timeout, self.ask(service, session, ctx)).await;
            let Ok(Ok(AuthAnswer { mut head, body })) = asked else {
                return refuse(ctx, Refusal::ForwardAuthSilent);
            };
            if head.status.is_success() {
                ctx.is_vouched_for = true;
                keep_fields(service, &head.headers, ctx);
                continue;
            }
            let status = head.status.as_u16();
            headers::strip_response_connection(&mut head);
            head.insert_header(header::CONTENT_LENGTH, body.len().to_string())?;
            head.insert_header("svc-ray", &ctx.ray)?;
            tls_only::tell_strict_transport(&mut head, ctx)?;
            ctx.whole_answer = Some(Box::new((head, body)));
            return refuse(ctx, Refusal::ForwardAuth(status));
        }
        Ok(())
    }

    async fn ask(&self, service: &AuthService, session: &Session, ctx: &Context) -> Result<AuthAnswer> {
        let head = question(service, session, ctx)?;
        let no_address = |reason| Error::explain(ErrorType::ConnectError, reason);
        let address = service.origin.address(self.clock.unix()).await.map_err(no_address)?;
        let peer = peer::peer(&service.origin, address, &ctx.snapshot.upstream);
        // A connection that was kept may be closed by now; a new one is not.
        let (mut upstream, is_reused) = self.connector.get_http_session(&peer).await?;
        let answer = match exchange(&mut upstream, &head).await {
            Err(_) if is_reused => {
                upstream = self.connector.get_http_session(&peer).await?.0;
                exchange(&mut upstream, &head).await?
            }
            answer => answer?,
        };
        self.keep(upstream, &peer, ctx).await;
        Ok(answer)
    }

    async fn keep(&self, upstream: HttpSession, peer: &HttpPeer, ctx: &Context) {
        let idle_timeout = Some(ctx.snapshot.upstream.idle_timeout);
        self.connector.release_http_session(upstream, peer, idle_timeout).await;
    }
}

/// What a service is asked about a request.
fn question(service: &AuthService, session: &Session, ctx: &Context) -> Result<RequestHeader> {
    let request = session.req_header();
    let mut head = RequestHeader::build(http::Method::GET, service.target.as_bytes(), None)?;
    for (name, value) in &request.headers {
        if !OF_BODY.contains(name) {
            head.append_header(name, value)?;
        }
    }
    headers::strip_connection(&mut head);
    headers::forward(&mut head, origin_request::forwarded(ctx))?;
    // What the client asked for, which rules may have rewritten.
    let target = ctx.sent_target.as_deref().unwrap_or_else(|| request.raw_path());
    let malformed = |_| Error::explain(ErrorType::InvalidHTTPHeader, "the target of a request");
    let target = HeaderValue::from_bytes(target).map_err(malformed)?;
    let method = HeaderValue::from_str(request.method.as_str());
    field_edits::tell(&mut head, "x-forwarded-uri", target)?;
    field_edits::tell(&mut head, "x-forwarded-method", method.unwrap_or(HeaderValue::from_static("")))?;
    head.insert_header(header::HOST, service.origin.url.authority())?;
    Ok(head)
}

async fn exchange(upstream: &mut HttpSession, head: &RequestHeader) -> Result<AuthAnswer> {
    upstream.write_request_header(Box::new(head.clone())).await?;
    upstream.finish_request_body().await?;
    peer::read_final_head(upstream).await?;
    let head = upstream.response_header().cloned();
    let head = head.ok_or_else(|| Error::explain(ErrorType::InvalidHTTPHeader, "no answer"))?;
    let mut body = BytesMut::new();
    while let Some(chunk) = upstream.read_response_body().await? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ANSWER_BYTES {
            return Error::e_explain(ErrorType::InternalError, "the answer of a service is too long");
        }
    }
    Ok(AuthAnswer { head, body: body.freeze() })
}

/// Keeps what an origin gets of an answer.
fn keep_fields(service: &AuthService, answer: &HeaderMap, ctx: &mut Context) {
    for name in &service.copy_headers {
        ctx.auth_fields.extend(answer.get_all(name).iter().map(|value| (name.clone(), value.clone())));
    }
}

/// Tells an origin what services said; nothing that only they say can come from a client.
pub(super) fn tell_fields(request: &mut RequestHeader, ctx: &Context) -> Result<()> {
    let Route::Zone(zone) = &ctx.route else { return Ok(()) };
    for name in zone.auth_services.iter().flat_map(|service| &service.copy_headers) {
        field_edits::remove_twins(request, name.as_str());
    }
    for (name, value) in &ctx.auth_fields {
        request.append_header(name.clone(), value.clone())?;
    }
    Ok(())
}
