//! Rules over responses, on zones that ask for them.
//!
//! The head is judged before it goes on, so a refusal is an answer of ours. A body is held back until
//! it is judged; by then the client has the head, so a refusal ends the connection and the client
//! gets nothing of the body. Event streams, gRPC, upgrades, encoded bodies and bodies announced as
//! longer than the limit are never held; of bodies that turn out longer, the first part is judged.

use bytes::{Bytes, BytesMut};
use pingora::Result;
use pingora::http::ResponseHeader;
use pingora::proxy::Session;

use super::context::{Context, Hold, Route};
use super::headers;
use super::inspect::Inspection;
use body::decompress::Coding;
use seclang::ResponseHead;

impl Inspection {
    /// Judges the head of a final response, and begins to hold its body if rules want to see it.
    pub(super) fn inspect_response(
        &self,
        session: &Session,
        response: &ResponseHeader,
        ctx: &mut Context,
    ) -> Result<()> {
        let Route::Zone(zone) = &ctx.route else { return Ok(()) };
        if !zone.response_rules {
            return Ok(());
        }
        self.run_rules(ctx, |ctx, watch| {
            let Some(rules) = &mut ctx.rules else { return };
            let fields = headers::response_fields(response);
            let protocol = headers::protocol(response.version);
            let head = ResponseHead { status: response.status.as_u16(), protocol, headers: &fields };
            rules.response_head(&head, watch);
            let held = rules.wants_response_body()
                && session.req_header().method != http::Method::HEAD
                && may_be_held(response, ctx.snapshot.limits.inspected_response.0);
            if held {
                ctx.response_hold = Some(Hold { bytes: BytesMut::new(), share: self.held_bodies.share() });
            } else if !rules.is_blocked() {
                rules.response_body(None, false, watch);
            }
        })
    }

    /// Holds a piece of a response body back; lets all of it go when the rules have seen it.
    pub(super) fn hold_response(&self, body: &mut Option<Bytes>, end: bool, ctx: &mut Context) -> Result<()> {
        let Some(mut hold) = ctx.response_hold.take() else { return Ok(()) };
        let limits = ctx.snapshot.limits;
        let chunk = body.take().unwrap_or_default();
        let room = hold.share.take(chunk.len(), limits.inspected_bodies.0);
        hold.bytes.extend_from_slice(&chunk);
        let full = hold.bytes.len() > limits.inspected_response.0;
        if room && !full && !end {
            ctx.response_hold = Some(hold);
            return Ok(());
        }
        let whole = hold.bytes.freeze();
        let seen = whole.slice(..whole.len().min(limits.inspected_response.0));
        self.run_rules(ctx, |ctx, watch| {
            if let Some(rules) = &mut ctx.rules {
                rules.response_body(Some(&seen), !end || full, watch);
            }
        })?;
        *body = (!whole.is_empty()).then_some(whole);
        Ok(())
    }
}

/// Whether a body of this kind and length is held back at all.
fn may_be_held(response: &ResponseHeader, limit: usize) -> bool {
    let media_type = body::media_type(headers::bytes(&response.headers, &http::header::CONTENT_TYPE));
    let streams = body::is_event_stream(media_type) || body::is_grpc(media_type);
    let coding = Coding::of(headers::bytes(&response.headers, &http::header::CONTENT_ENCODING));
    let encoded = coding != Some(Coding::Identity);
    let fits = headers::content_length(&response.headers)
        .is_none_or(|length| usize::try_from(length).is_ok_and(|length| length <= limit));
    let bodiless = matches!(response.status.as_u16(), 204 | 304);
    !streams && !encoded && fits && !bodiless
}
