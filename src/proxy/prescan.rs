//! Requests to a provider that are scanned before they go on, on gateways that refuse sensitive data.

use std::sync::Arc;

use bytes::Bytes;
use model::Finding;
use pingora::Result;

use super::call::Call;
use super::context::Context;
use super::inspect::OFFLOADED_BYTES;
use super::offload::Offload;
use super::refusal::Refusal;
use super::refuse;
use crate::ai::scan;
use crate::events::Events;
use crate::scanning::{self, Subject};
use ::gateway::answer::GatewayError;
use detection::plan::ScanPlan;
use model::gateway::ScanMode;

/// What was found in a request that may not be forwarded.
#[derive(Debug)]
pub(super) struct Blocked {
    /// For who sent it.
    pub(super) verdict: String,
    /// For its row.
    pub(super) findings: Vec<Finding>,
}

/// What a call is scanned for before it goes on; `None` if it may carry what it likes.
pub(super) fn of_call(call: &Call, ray: &str) -> Option<(ScanPlan, Subject)> {
    let plan =
        call.gateway.scan.as_ref().filter(|_| call.gateway.settings.scan_requests == ScanMode::Block)?;
    Some((plan.clone(), Subject::of_call(&call.gateway.account, ray, &call.path)))
}

/// The step that scans requests to providers.
pub(super) struct Prescan {
    events: Events,
    offload: Arc<Offload>,
}

impl Prescan {
    pub(super) fn new(events: Events, offload: Arc<Offload>) -> Self {
        Self { events, offload }
    }

    /// Refuses a request whose body carries sensitive data; a long one is scanned on another thread while
    /// this one goes on with other requests.
    pub(super) async fn refuse_findings(
        &self,
        scan: Option<(ScanPlan, Subject)>,
        body: &Bytes,
        ctx: &mut Context,
    ) -> Result<()> {
        let Some((plan, subject)) = scan else { return Ok(()) };
        let blocked = if body.len() > OFFLOADED_BYTES {
            let (body, events) = (body.clone(), self.events.clone());
            let away = self.offload.run(body.len(), move || told(&plan, &body, &subject, &events));
            // Whoever fails to scan a request must not let it pass.
            let Some(blocked) = away.await else { return refuse(ctx, Refusal::Internal) };
            blocked
        } else {
            told(&plan, body, &subject, &self.events)
        };
        if blocked.is_none() {
            return Ok(());
        }
        ctx.blocked_for = blocked;
        refuse(ctx, Refusal::Gateway(GatewayError::ContentBlocked))
    }
}

/// Tells what was found in a request that is not forwarded, as events.
fn told(plan: &ScanPlan, body: &[u8], subject: &Subject, events: &Events) -> Option<Blocked> {
    let findings = plan.scan(body, &subject.ray, None);
    scanning::report(&findings, subject, "block", false, events);
    let rules = findings.found.iter().map(|found| found.rule.id.as_str());
    (!findings.found.is_empty()).then(|| Blocked {
        verdict: scan::verdict("REQUEST", rules, "BLOCK"),
        findings: findings.found.iter().map(|found| scan::finding("REQUEST", found)).collect(),
    })
}
