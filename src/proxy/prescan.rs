//! Calls and answers that are scanned before they go on, on gateways that hold sensitive data back.

use std::sync::Arc;

use bytes::Bytes;

use super::call::Call;
use super::context::Context;
use super::inspect::OFFLOADED_BYTES;
use super::offload::Offload;
use crate::ai::Gateway;
use crate::ai::call_scan::{ScanVerdict, StageScan};
use crate::events::Events;
use crate::scanning::Subject;
use ::gateway::answer::GatewayError;

/// Told to a caller whose provider answered what cannot be scanned.
const UNREADABLE_ANSWER: &str = "the answer is longer than `limits.inspected_body`, or its `Content-Encoding` cannot be \
                                 undone, so that it cannot be scanned";

/// The step that scans what goes to providers, and what they answer.
pub(super) struct Prescan {
    events: Events,
    offload: Arc<Offload>,
}

impl Prescan {
    pub(super) fn new(events: Events, offload: Arc<Offload>) -> Self {
        Self { events, offload }
    }

    /// Scans what is asked, if the gateway may hold that back; inside, why it does not go out.
    pub(super) async fn judge(
        &self,
        call: &mut Call,
        body: &Bytes,
        ctx: &mut Context,
    ) -> Result<(), GatewayError> {
        let gateway = Arc::clone(&call.gateway);
        let Some(scan) = gateway.request_scan() else { return Ok(()) };
        let subject = Subject::of_call(&gateway.account, &ctx.ray, &call.path);
        // Whatever a caller says of it, providers read JSON.
        let found = self.scan(scan, body, b"", subject).await;
        call.flagged.add(passing(found, GatewayError::ContentBlocked, ctx)?);
        Ok(())
    }

    /// Scans what a provider answers; inside, why the client does not get it. `body` is nothing if it cannot be read.
    pub(super) async fn judge_answer(
        &self,
        gateway: &Gateway,
        scan: &StageScan,
        body: Option<&Bytes>,
        content_type: &[u8],
        ctx: &mut Context,
    ) -> Result<(), GatewayError> {
        let Some(body) = body else {
            ctx.reason = Some(UNREADABLE_ANSWER.to_owned());
            return Err(GatewayError::AnswerContentBlocked);
        };
        let path = ctx.call().map(|call| call.path.clone()).unwrap_or_default();
        let subject = Subject::of_call(&gateway.account, &ctx.ray, &path);
        let found = self.scan(scan, body, content_type, subject).await;
        let flagged = passing(found, GatewayError::AnswerContentBlocked, ctx)?;
        if let Some(call) = ctx.call() {
            call.flagged.add(flagged);
        }
        Ok(())
    }

    /// Scans a body. A long one is scanned on another thread, so that this one serves other requests meanwhile. `None` if the
    /// scan failed.
    async fn scan(
        &self,
        scan: &StageScan,
        body: &Bytes,
        content_type: &[u8],
        subject: Subject,
    ) -> Option<ScanVerdict> {
        if body.len() <= OFFLOADED_BYTES {
            return Some(scan.scan(body, content_type, &subject, &self.events));
        }
        let (scan, events) = (scan.clone(), self.events.clone());
        let (bytes, body, content_type) = (body.len(), body.clone(), content_type.to_vec());
        self.offload.run(bytes, move || scan.scan(&body, &content_type, &subject, &events)).await
    }
}

/// What was found, if it may go on all the same; inside, why it does not.
fn passing(
    found: Option<ScanVerdict>,
    refused: GatewayError,
    ctx: &mut Context,
) -> Result<ScanVerdict, GatewayError> {
    // Whoever fails to scan a call must not let it pass.
    let Some(found) = found else {
        ctx.reason = Some("the scan for sensitive data failed".to_owned());
        return Err(refused);
    };
    if found.is_cut {
        ctx.reason =
            Some("so much in it is nearly sensitive data that it cannot be scanned to its end".to_owned());
    }
    if found.blocks {
        ctx.held_back = Some(found);
        return Err(refused);
    }
    Ok(found)
}
