//! How long an origin may be silent.

use std::time::Duration;

use pingora::proxy::Session;

use super::context::Context;
use super::headers;

/// How long a WebSocket may be silent.
pub(super) const UPGRADED_IDLE: Duration = Duration::from_secs(3600);
/// The slowest upload that is waited for, in bytes a second.
const MIN_UPLOAD_RATE: u64 = 16 << 10;
/// How long an upload of unknown length is waited for.
const UNKNOWN_UPLOAD: Duration = Duration::from_secs(600);

/// How long the framework lets an origin be silent. Its clock runs while the client still sends its body, so a
/// body that is not in memory adds what its upload may take; `AnswerTimeout` counts from the end of the body.
pub(super) fn origin_timeout(session: &Session, ctx: &Context) -> Duration {
    if ctx.is_web_socket {
        return UPGRADED_IDLE;
    }
    let headers = &session.req_header().headers;
    let upload = match headers::content_length(headers) {
        _ if ctx.body.is_whole() => Duration::ZERO,
        Some(length) => Duration::from_secs(length / MIN_UPLOAD_RATE).min(UNKNOWN_UPLOAD),
        None if headers.contains_key(http::header::TRANSFER_ENCODING) => UNKNOWN_UPLOAD,
        None => Duration::ZERO,
    };
    ctx.read_timeout() + upload
}
