//! Copies of responses for the scanner, on zones that ask for them.

use std::borrow::Cow;
use std::sync::Arc;

use pingora::http::{RequestHeader, ResponseHeader};
use pingora::proxy::Session;

use super::context::{Context, Route};
use super::facts::with_facts;
use super::headers;
use crate::clock::Clock;
use crate::ruleset::{EntryPoint, Phase};
use crate::scanning::{Limits, ScanQueue, Subject};
use body::decompress;
use detection::plan::ScanPlan;

/// The step that hands copies of responses to the scanner.
pub(super) struct ResponseCopies {
    scans: ScanQueue,
    clock: Clock,
}

impl ResponseCopies {
    pub(super) fn new(scans: ScanQueue, clock: Clock) -> Self {
        Self { scans, clock }
    }

    /// What a response is scanned for; `None` if no rule is for it.
    fn scan_plan<'z>(
        &self,
        entry_point: &'z EntryPoint,
        request: &RequestHeader,
        response: &ResponseHeader,
        ctx: &mut Context,
    ) -> Option<Cow<'z, ScanPlan>> {
        if let Some(plan) = entry_point.scan_plan_of_all().filter(|_| !ctx.decisions.has_skips()) {
            return Some(Cow::Borrowed(plan));
        }
        let mut decisions = std::mem::take(&mut ctx.decisions);
        let plan = with_facts(request, Some(response), self.clock.unix(), ctx, |facts| {
            entry_point.scan_plan(facts, &mut decisions)
        });
        ctx.decisions = decisions;
        plan.map(Cow::Owned)
    }

    /// Begins to copy a response if its zone asks for it.
    pub(super) fn begin(&self, session: &Session, response: &ResponseHeader, ctx: &mut Context) {
        let Route::Zone(zone) = &ctx.route else { return };
        let zone = Arc::clone(zone);
        let Some(entry_point) = zone.entry_points.of(Phase::HttpResponseFirewallManaged) else { return };
        let bodiless = session.req_header().method == http::Method::HEAD
            || matches!(response.status.as_u16(), 204 | 304)
            || response.headers.get(http::header::CONTENT_LENGTH).is_some_and(|length| length == "0");
        if bodiless {
            return;
        }
        let Some(plan) = self.scan_plan(entry_point, session.req_header(), response, ctx) else { return };
        let limits = ctx.snapshot.limits;
        let limits = Limits {
            scanned_bytes: limits.scanned_body.0,
            decompression: decompress::Limits {
                output_bytes: limits.decompressed_body.0,
                ratio: limits.decompression_ratio,
            },
        };
        let subject = Subject {
            ray: ctx.ray.clone(),
            zone: zone.name.clone(),
            zone_id: zone.id.to_string(),
            account_id: zone.source.account.to_string(),
            host: ctx.host.clone(),
            path: session.req_header().uri.path().to_owned(),
        };
        let content_type = headers::bytes(&response.headers, &http::header::CONTENT_TYPE);
        let content_encoding = headers::bytes(&response.headers, &http::header::CONTENT_ENCODING);
        ctx.tee = self.scans.tee(&plan, limits, content_type, content_encoding, subject).map(Box::new);
    }
}
