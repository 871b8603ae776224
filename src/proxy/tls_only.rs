//! What is answered because of TLS: tokens that CAs look for, and the way from HTTP to HTTPS.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, header};
use model::certificate_pack::TlsVersion;
use model::zone::StrictTransport;
use pingora::Result;
use pingora::http::ResponseHeader;
use pingora::proxy::Session;

use super::context::{Context, Route};
use super::headers;
use super::refusal::Refusal;
use crate::snapshot::CompiledZone;

/// Where a CA looks (RFC 8555 section 8.3).
const CHALLENGE_PATH: &str = "/.well-known/acme-challenge/";

/// Answers a CA that looks for a token of ours; `false` if it is not such a request. It comes before all rules: a
/// certificate does not depend on them, and nothing but the token is answered.
pub(super) async fn answer_challenge(session: &mut Session, ctx: &Context) -> Result<bool> {
    let request = session.req_header();
    let is_head = request.method == Method::HEAD;
    if request.method != Method::GET && !is_head {
        return Ok(false);
    }
    let Some(token) = request.uri.path().strip_prefix(CHALLENGE_PATH) else { return Ok(false) };
    let known = ctx.snapshot.certificates_by_name.key_authorization(&ctx.host, token);
    let Some(body) = known.map(|text| Bytes::copy_from_slice(text.as_bytes())) else { return Ok(false) };
    let mut head = ResponseHeader::build(200, Some(4))?;
    head.insert_header(header::CONTENT_TYPE, "application/octet-stream")?;
    head.insert_header(header::CONTENT_LENGTH, body.len().to_string())?;
    head.insert_header(header::CACHE_CONTROL, "no-store")?;
    head.insert_header("svc-ray", &ctx.ray)?;
    session.write_response_header(Box::new(head), is_head).await?;
    session.write_response_body((!is_head).then_some(body), true).await?;
    Ok(true)
}

/// Why a request may not come over its connection. What TLS agreed on is for the name that the connection was made for,
/// and a request can name another.
pub(super) fn connection_refusal(zone: &CompiledZone, ctx: &Context) -> Option<Refusal> {
    let is_too_old =
        ctx.tls && !ctx.is_tls_1_3 && ctx.snapshot.spoken_tls(&ctx.host).min_version() == TlsVersion::V13;
    if is_too_old {
        return Some(Refusal::Misdirected);
    }
    // Custom hostnames are of others, who have no certificates of the zone's clients.
    let wanted = zone.source.tls.client_certificates.as_ref().filter(|_| ctx.hostname.is_none())?;
    let is_shown =
        ctx.client_certificates.as_ref().is_some_and(|shown| Arc::ptr_eq(shown, wanted) || shown == wanted);
    (wanted.is_required && !is_shown).then_some(Refusal::ClientCertificate)
}

/// Leads a request that came without TLS to the same address with it, if its zone wants that.
pub(super) fn https_location(session: &Session, ctx: &Context) -> Option<(Refusal, String)> {
    let Route::Zone(zone) = &ctx.route else { return None };
    if !zone.source.tls.is_always_https || ctx.tls || came_by_https(session, ctx) {
        return None;
    }
    let request = session.req_header();
    // What is not a page is asked for again as it was.
    let status = if matches!(request.method, Method::GET | Method::HEAD) { 301 } else { 308 };
    let target = request.uri.path_and_query().map_or("/", |target| target.as_str());
    let printable = target.bytes().all(|byte| byte.is_ascii_graphic()) && target.starts_with('/');
    let location = format!("https://{}{}", ctx.host, if printable { target } else { "/" });
    Some((Refusal::Redirect(status), location))
}

/// Whether a proxy in front, which is trusted, says that the client came by HTTPS.
fn came_by_https(session: &Session, ctx: &Context) -> bool {
    let is_trusted = ctx.peer_is_trusted();
    let name = http::HeaderName::from_static("x-forwarded-proto");
    is_trusted && headers::bytes(&session.req_header().headers, &name).eq_ignore_ascii_case(b"https")
}

/// Tells clients how to come next: by HTTP/3, if the listener speaks it (RFC 7838), and by HTTPS alone, if the zone of the
/// request says so (RFC 6797).
pub(super) fn tell_transports(response: &mut ResponseHeader, ctx: &Context) -> Result<()> {
    if let Some(alternative) = &ctx.alternative {
        response.insert_header(header::ALT_SVC, alternative)?;
    }
    let Route::Zone(zone) = &ctx.route else { return Ok(()) };
    match zone.source.tls.strict_transport {
        Some(settings) if ctx.tls => {
            response.insert_header(header::STRICT_TRANSPORT_SECURITY, value(settings))?;
            Ok(())
        }
        _ => Ok(()),
    }
}

fn value(settings: StrictTransport) -> String {
    let mut value = format!("max-age={}", settings.max_age);
    if settings.includes_subdomains {
        value.push_str("; includeSubDomains");
    }
    if settings.is_preloaded {
        value.push_str("; preload");
    }
    value
}
