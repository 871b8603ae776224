//! Services that are asked whether a request may go on, such as a sign-in of several sites.
//!
//! Each is asked with a `GET` that has the fields of the request and says in others what the request is. 2xx lets it go on;
//! any other answer is the client's. One that does not answer lets nothing pass.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use pingora::http::RequestHeader;
use pingora::proxy::Session;
use pingora::{Error, ErrorType, Result};

use super::context::{Context, Route};
use super::facts::is_for;
use super::refusal::Refusal;
use super::service_client::{ServiceAnswer, ServiceClient, ServiceRequest};
use super::{field_edits, headers, origin_request, refuse, tls_only};
use crate::clock::Clock;
use crate::snapshot::{AuthService, CompiledZone};

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
    client: ServiceClient,
    clock: Clock,
}

impl AuthServices {
    pub(super) fn new(clock: Clock) -> Self {
        Self { client: ServiceClient::new(clock), clock }
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
            let asked = async {
                let request = question(service, session, ctx)?;
                self.client.ask(&service.origin, &request, ctx).await
            };
            let Ok(Ok(ServiceAnswer { mut head, body })) = tokio::time::timeout(service.timeout, asked).await
            else {
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
            tls_only::tell_transports(&mut head, ctx)?;
            ctx.whole_answer = Some(Box::new((head, body)));
            return refuse(ctx, Refusal::ForwardAuth(status));
        }
        Ok(())
    }
}

/// What a service is asked about a request.
fn question(service: &AuthService, session: &Session, ctx: &Context) -> Result<ServiceRequest> {
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
    Ok(ServiceRequest { head, body: None, max_answer_bytes: MAX_ANSWER_BYTES, may_be_private: true })
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
