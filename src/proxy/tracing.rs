//! The place of a request in its trace, and the spans of a request and of an AI call.

use std::time::Duration;

use http::{HeaderMap, HeaderName};
use pingora::Result;
use pingora::http::RequestHeader;
use pingora::proxy::Session;

use super::call::Call;
use super::context::Context;
use super::{Edge, field_edits, headers};
use crate::events::kinds::RequestFinished;
use crate::events::spans::{SpanKind, TraceContext, TraceSpan};

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// The field that names the caller's span; `None` if there are two.
fn only_traceparent(fields: &HeaderMap) -> Option<&[u8]> {
    let mut found = fields.get_all(TRACEPARENT).iter();
    found.next().filter(|_| found.next().is_none()).map(http::HeaderValue::as_bytes)
}

/// The span that a request is below, as its caller says.
pub(super) fn caller_span(fields: &HeaderMap) -> Option<TraceContext> {
    only_traceparent(fields).and_then(TraceContext::parse)
}

impl Edge {
    /// Puts a request into its trace; whoever is asked next learns of it by a field.
    pub(super) fn begin_trace(&self, session: &mut Session, ctx: &mut Context) -> Result<()> {
        let Some(queue) = self.events.spans() else { return Ok(()) };
        let request = session.req_header_mut();
        let told = only_traceparent(&request.headers);
        let is_trusted = ctx.peer_is_trusted();
        let Some(trace) = queue.begin(told, is_trusted) else { return Ok(()) };
        if trace.parent == 0 {
            // It is of the trace that ends here.
            request.remove_header(&TRACESTATE);
        }
        ctx.trace = Some(trace);
        let field = http::HeaderValue::try_from(trace.traceparent());
        // INVARIANT: digits, letters and hyphens are a valid value.
        field.map_or(Ok(()), |field| field_edits::tell(request, TRACEPARENT, field))
    }

    /// Tells of the trace of a request in another one that is made for it.
    pub(super) fn pass_trace_on(from: &RequestHeader, to: &mut RequestHeader, ctx: &Context) -> Result<()> {
        if ctx.trace.is_none() {
            return Ok(());
        }
        for name in [HeaderName::from_static(TRACEPARENT), TRACESTATE] {
            to.remove_header(&name);
            if let Some(value) = from.headers.get(&name) {
                to.insert_header(name, value.clone())?;
            }
        }
        Ok(())
    }

    /// Keeps the span of a request that has ended.
    pub(super) fn end_trace(&self, session: &Session, ended: &RequestFinished<'_>, ctx: &Context) {
        let Some(trace) = ctx.trace.filter(|trace| trace.is_sampled) else { return };
        let (end, duration) = (self.clock.unix(), ctx.started.elapsed());
        let mut span = TraceSpan::new(trace, SpanKind::Server, end, duration);
        span.set_name(ended.method);
        span.has_failed = ended.status >= 500;
        let version = headers::protocol(session.req_header().version).trim_start_matches("HTTP/");
        for (name, value) in [
            ("http.request.method", ended.method),
            ("url.scheme", if ctx.tls { "https" } else { "http" }),
            // Without the query, in which secrets are found.
            ("url.path", ended.path),
            ("server.address", ended.host),
            ("client.address", ended.client),
            ("network.protocol.version", version.trim_end_matches(".0")),
            ("user_agent.original", std::str::from_utf8(ended.user_agent).unwrap_or("")),
            ("error.type", ctx.refusal.map_or("", |refusal| refusal.word())),
            ("portcullis.ray", ended.ray),
            ("portcullis.zone", ended.zone),
            ("portcullis.verdict", ended.verdict),
        ] {
            span.text(name, value);
        }
        span.int("http.response.status_code", ended.status);
        if ended.origin_status != 0 {
            span.int("portcullis.origin.status_code", ended.origin_status);
        }
        if ctx.verdict.score.all != 0 {
            span.int("portcullis.waf.score", ctx.verdict.score.all);
        }
        self.events.span(span);
    }

    /// The span of a call for the collectors of its gateway. It is below the span that the caller names, because those of the
    /// edge itself go elsewhere.
    pub(super) fn collected_span(&self, call: &Call, duration: Duration, ctx: &Context) -> Option<TraceSpan> {
        if call.gateway.collectors.is_empty() {
            return None;
        }
        let of_edge = ctx.trace.map(|trace| TraceContext { span: trace.parent, parent: 0, ..trace });
        let parent = call.options.parent_span_id.map_or(0, u64::from);
        let caller = call.options.trace_id.map(|trace| TraceContext::of(trace.into(), parent));
        let caller = caller.or(of_edge).or(call.caller_span);
        let mut random = [0; 24];
        getrandom::fill(&mut random).ok()?;
        let context = TraceContext::new(caller, random, true);
        Some(TraceSpan::new(context, SpanKind::Client, self.clock.unix(), duration))
    }

    /// The span of a call that a provider was asked for, as far as it is known before its answer is read.
    pub(super) fn call_span(&self, duration: Duration, ctx: &Context) -> Option<TraceSpan> {
        let context = ctx.trace.filter(|trace| trace.is_sampled)?.child()?;
        Some(TraceSpan::new(context, SpanKind::Client, self.clock.unix(), duration))
    }
}
