//! The last look before any rule: heads that came in HTTP/2 frames, and the host.

use pingora::proxy::Session;

use super::context::Context;
use crate::admission::{self, parsed};

/// Admits a request: its host in normal form.
pub(super) fn admit(session: &Session, ctx: &Context) -> Result<String, admission::Refused> {
    let limits = admission::HeadLimits::from(&ctx.snapshot.limits);
    let request = session.req_header();
    let authority = request.uri.authority().map(http::uri::Authority::as_str);
    // A head of HTTP/1 was judged as it came in.
    if session.is_http2() {
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
