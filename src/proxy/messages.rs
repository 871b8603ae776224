//! The messages of a gRPC stream after those that were held with its head: each is judged before it goes on.
//!
//! A stream is never held as a whole, because its client may wait for an answer before it sends more. Each
//! message is, and is judged as the body of a request of its own with the head of the stream.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use pingora::Result;
use pingora::proxy::Session;

use super::context::{Context, Route};
use super::held_bodies::Share;
use super::inspect::{Inspection, start_rules};
use super::refusal::Refusal;
use super::refuse;
use crate::conf::BodyPolicy;
use crate::events::kinds::BodyUninspected;
use crate::ruleset::{Phase, Run};
use body::grpc;

/// A stream of messages on its way.
pub(super) struct MessageStream {
    /// Of the stream, judged with its head.
    judged_bytes: usize,
    /// Of the stream, sent on in this attempt.
    sent_bytes: usize,
    /// A message that is not complete yet.
    pending: BytesMut,
    share: Share,
}

impl MessageStream {
    pub(super) fn new(judged_bytes: usize, share: Share) -> Self {
        Self { judged_bytes, sent_bytes: 0, pending: BytesMut::new(), share }
    }

    /// The stream is sent again from its beginning.
    pub(super) fn restart(&mut self) {
        self.share.put_back(self.pending.len());
        self.pending.clear();
        self.sent_bytes = 0;
    }

    /// The next complete message, or at the end what is left.
    fn next(&mut self, end: bool) -> Option<Bytes> {
        let framed_bytes = match grpc::split_first(&self.pending) {
            Some((message, _)) => message.framed.len(),
            None if end => self.pending.len(),
            None => 0,
        };
        (framed_bytes > 0).then(|| {
            self.share.put_back(framed_bytes);
            self.pending.split_to(framed_bytes).freeze()
        })
    }
}

impl Inspection {
    /// Replaces a piece of a stream by the messages that are complete with it, and judges those.
    pub(super) async fn judge_messages(
        &self,
        session: &Session,
        piece: &mut Option<Bytes>,
        end: bool,
        ctx: &mut Context,
    ) -> Result<()> {
        let Some(mut stream) = ctx.messages.take() else { return Ok(()) };
        let limits = ctx.snapshot.limits;
        let bytes = piece.take().unwrap_or_default();
        let has_room = stream.share.take(bytes.len(), limits.inspected_bodies.0);
        stream.pending.extend_from_slice(&bytes);
        let mut passed = BytesMut::new();
        while let Some(message) = stream.next(end) {
            if stream.sent_bytes >= stream.judged_bytes {
                self.judge_message(&message, false, session, ctx).await?;
            }
            stream.sent_bytes += message.len();
            passed.extend_from_slice(&message);
        }
        let is_long = stream.pending.len() > limits.inspected_body.0;
        if is_long || !has_room {
            if limits.inspected_body_policy == BodyPolicy::Refuse {
                return refuse(ctx, if is_long { Refusal::BodyTooLong } else { Refusal::TooManyBodies });
            }
            let rest = stream.pending.split().freeze();
            let seen = rest.slice(..rest.len().min(limits.inspected_body.0));
            self.events.emit(&BodyUninspected { ray: &ctx.ray, inspected_bytes: seen.len() });
            self.judge_message(&seen, true, session, ctx).await?;
            passed.extend_from_slice(&rest);
            // All that follows goes on unseen.
            drop(stream);
        } else {
            ctx.messages = Some(stream);
        }
        self.held_bodies.record();
        // Never none before the end: the framework takes that for the end.
        *piece = (!end || !passed.is_empty()).then(|| passed.freeze());
        Ok(())
    }

    /// Judges one message; what was found in it is kept if it says more than what was found before.
    async fn judge_message(
        &self,
        message: &Bytes,
        is_cut: bool,
        session: &Session,
        ctx: &mut Context,
    ) -> Result<()> {
        let Route::Zone(zone) = &ctx.route else { return Ok(()) };
        let zone = Arc::clone(zone);
        let Some(entry_point) = zone.entry_points.of(Phase::HttpRequestFirewallManaged) else {
            return Ok(());
        };
        let (before, received) = (ctx.rules.take(), self.clock.unix());
        // Each message has the time of a request.
        let spent_before = std::mem::take(&mut ctx.rules_time);
        // The rules decide the same for each message; a stream may have any number of them.
        let mark = ctx.decisions.mark();
        let judged =
            self.run_rules(ctx, |ctx, watch| start_rules(entry_point, received, session, ctx, watch));
        ctx.decisions.go_back_to(mark);
        judged?;
        self.judge_part(message, is_cut, session, ctx).await?;
        ctx.rules_time += spent_before;
        if before.as_ref().map(Run::score) >= ctx.rules.as_ref().map(Run::score) {
            ctx.rules = before;
        }
        Ok(())
    }
}
