//! The response to a request on its way to the client: of an origin, of a provider, or one that was kept.

use pingora::Result;
use pingora::http::ResponseHeader;
use pingora::proxy::Session;

use super::context::Context;
use super::{Edge, affinity, caching, origin_timeout, outcome, tls_only};
use crate::listener::ConnectionMeta;

impl Edge {
    /// Judges and changes the head of a response.
    ///
    /// # Errors
    /// If rules refuse it, and if a page takes its place.
    pub(super) fn take_response(
        &self,
        session: &mut Session,
        response: &mut ResponseHeader,
        ctx: &mut Context,
    ) -> Result<()> {
        // Also called for each 1xx; only 101 is final.
        if response.status.is_informational() {
            if response.status == http::StatusCode::SWITCHING_PROTOCOLS {
                ctx.origin_status = 101;
                if let Some(meta) = ConnectionMeta::of(session.digest()) {
                    meta.progress.upgrade();
                }
                session.set_read_timeout(Some(origin_timeout::UPGRADED_IDLE));
                let elapsed = ctx.started.elapsed();
                if let Some(call) = ctx.call() {
                    call.begin_answer(response, elapsed)?;
                }
            }
            return Ok(());
        }
        let is_kept = caching::is_kept(session);
        // 0 if no origin answered.
        ctx.origin_status = if is_kept { 0 } else { response.status.as_u16() };
        if let Some(attempt) = ctx.attempt.as_ref().filter(|_| !is_kept) {
            outcome::observe_answer(self, ctx, attempt);
            outcome::origin_answered(self, ctx, &attempt.origin, ctx.origin_status);
        }
        self.inspection.settle_rates(session, Some(response), ctx);
        self.inspection.inspect_response(session, response, ctx)?;
        self.inspection.replace_error(session, response, ctx)?;
        response.insert_header("svc-ray", &ctx.ray)?;
        self.caching.tell(session, response, ctx)?;
        tls_only::tell_transports(response, ctx)?;
        affinity::keep(response, ctx)?;
        let elapsed = ctx.started.elapsed();
        if let Some(call) = ctx.call() {
            call.begin_answer(response, elapsed)?;
        }
        if session.req_header().version == http::Version::HTTP_10 {
            // HTTP/1.0 knows no chunks (RFC 9112 section 6.1): without a length the body ends with the connection.
            response.remove_header("transfer-encoding");
            if !response.headers.contains_key(http::header::CONTENT_LENGTH) {
                session.set_keepalive(None);
            }
        }
        if ctx.error_body.is_none() {
            self.copies.begin(session, response, ctx);
        }
        self.inspection.edit_response(session, response, ctx)?;
        self.inspection.compress_response(session, response, ctx)
    }
}
