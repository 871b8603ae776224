//! One call of a gateway on its way: what the recorder gets at the end.

use model::Finding;
use model::Measure;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use pingora::http::ResponseHeader;

use super::call_estimate::Asking;
use super::dynamic_route::PassedLimit;
use super::headers;
use super::mcp::McpCall;
use super::tracing;
use crate::ai::call_scan::ScanVerdict;
use crate::ai::{self, Gateway, Provider};
use crate::clock::milliseconds;
use crate::events::spans::TraceContext;
use crate::records::Finished;
use ::gateway::body_copy::BodyCopy;
use gateway::aws::AccessKey;
use gateway::limit::{Amounts, Reservation};
use gateway::mcp::EXECUTE_TOOL;
use gateway::options::Options;
use gateway::price::Prices;
use gateway::usage::Tap;
use model::{AiLog, Limit, TokenId};

/// Longest list of warnings in a header field, in bytes.
const MAX_WARNING_BYTES: usize = 1024;

/// A call that may go out.
pub(super) struct Call {
    pub(super) gateway: Arc<Gateway>,
    pub(super) provider: Arc<Provider>,
    pub(super) token: Option<TokenId>,
    pub(super) options: Options,
    /// A ULID.
    pub(super) id: String,
    /// Behind the provider, without the query.
    pub(super) path: String,
    /// A stored key, as the field that carries it.
    pub(super) credential: Option<(http::HeaderName, HeaderValue)>,
    /// The stored key that the request is signed with once it is whole.
    pub(super) signer: Option<AccessKey>,
    /// Whether the usage of the stream was asked for by the gateway alone.
    pub(super) withholds_usage: bool,
    pub(super) request_type: &'static str,
    pub(super) request_content_type: String,
    pub(super) step: u32,
    pub(super) cached: bool,
    pub(super) request: BodyCopy,
    pub(super) response: BodyCopy,
    pub(super) reservations: Vec<Reservation>,
    /// Limits of money of the route that found the provider.
    pub(super) route_costs: Vec<PassedLimit>,
    /// The dynamic route that found the model.
    pub(super) route: Option<String>,
    /// The model that a route found.
    pub(super) routed_model: Option<String>,
    /// What one attempt uses at least.
    pub(super) one_attempt: Amounts,
    /// Attempts that the provider got and did not answer: it may bill them.
    pub(super) unanswered: u32,
    /// Whether the provider got the request of the last attempt.
    pub(super) is_sent: bool,
    /// Since the request came: when the provider was asked, when it began to answer.
    pub(super) asked_at: Option<Duration>,
    pub(super) first_byte_at: Option<Duration>,
    /// What it asks of a server of tools, if it is for one.
    pub(super) mcp: Option<McpCall>,
    /// What was found in it and did not hold it back.
    pub(super) flagged: ScanVerdict,
    /// Kinds of content that the guardrail found in it.
    pub(super) content: Vec<Finding>,
    /// The span that its caller names, if the gateway has collectors.
    pub(super) caller_span: Option<TraceContext>,
    answer: Option<Answer>,
}

/// The answer so far.
struct Answer {
    status: u16,
    tap: Tap,
    is_stream: bool,
    content_type: String,
    coding: Vec<u8>,
}

/// How a call ended.
#[derive(Debug)]
pub(super) struct End {
    pub(super) status: u16,
    /// `None` if all went well.
    pub(super) error: Option<&'static str>,
    pub(super) duration: Duration,
    /// What it was not forwarded for.
    pub(super) findings: Vec<Finding>,
}

impl Call {
    pub(super) fn new(forward: ai::Forward, options: Options, id: String, headers: &HeaderMap) -> Self {
        let ai::Forward { gateway, provider, target, token, mcp_server: _ } = forward;
        let caller_span = if gateway.collectors.is_empty() { None } else { tracing::caller_span(headers) };
        Self {
            gateway,
            provider,
            token,
            options,
            id,
            path: target,
            credential: None,
            signer: None,
            withholds_usage: false,
            request_type: "native",
            request_content_type: text(headers, &http::header::CONTENT_TYPE),
            step: 0,
            cached: false,
            request: BodyCopy::default(),
            response: BodyCopy::default(),
            reservations: Vec::new(),
            route_costs: Vec::new(),
            route: None,
            routed_model: None,
            one_attempt: Amounts::default(),
            unanswered: 0,
            is_sent: false,
            asked_at: None,
            first_byte_at: None,
            mcp: None,
            flagged: ScanVerdict::default(),
            content: Vec::new(),
            caller_span,
            answer: None,
        }
    }

    /// Makes it a call of a server of tools.
    pub(super) fn take_mcp(&mut self, mcp: McpCall) {
        self.request_type = "mcp";
        self.mcp = Some(mcp);
    }

    pub(super) fn collects_log(&self) -> bool {
        self.options.collect_log.unwrap_or(self.gateway.settings.collect_logs)
    }

    /// What it is to meet.
    pub(super) fn limits(&self) -> impl Iterator<Item = &Limit> {
        self.gateway.limits.iter().chain(self.route_costs.iter().map(|passed| &passed.limit))
    }

    /// What it asks for, to be estimated.
    pub(super) fn asking(&self) -> Asking<'_> {
        Asking {
            limits: self.limits().collect(),
            options: &self.options,
            settings: &self.gateway.settings,
            token: self.token.as_ref(),
            provider: &self.provider.slug,
            path: &self.path,
        }
    }

    /// Reads what the answer will be, and adds the gateway's own fields to it.
    pub(super) fn begin_answer(
        &mut self,
        response: &mut ResponseHeader,
        elapsed: Duration,
    ) -> pingora::Result<()> {
        let content_type = headers::bytes(&response.headers, &http::header::CONTENT_TYPE);
        let coding = headers::bytes(&response.headers, &http::header::CONTENT_ENCODING);
        let tap = if response.status == http::StatusCode::SWITCHING_PROTOCOLS {
            Tap::web_socket(headers::bytes(&response.headers, &http::header::SEC_WEBSOCKET_EXTENSIONS))
        } else if self.mcp.is_some() {
            Tap::of_tools(content_type, coding)
        } else {
            Tap::new(content_type, coding)
        };
        self.answer = Some(Answer {
            status: response.status.as_u16(),
            is_stream: tap.is_stream(),
            tap,
            content_type: text(&response.headers, &http::header::CONTENT_TYPE),
            coding: coding.to_vec(),
        });
        response.insert_header("svc-aig-request-id", &self.id)?;
        if self.collects_log() {
            response.insert_header("svc-aig-log-id", &self.id)?;
        }
        if self.request_type == "universal" {
            response.insert_header("svc-aig-step", self.step.to_string())?;
        }
        if let Some(event_id) = &self.options.event_id {
            response.insert_header("svc-aig-event-id", event_id)?;
        }
        self.tell_flagged(response)?;
        if !self.options.warnings.is_empty() {
            let mut warnings = self.options.warnings.join("; ");
            warnings.truncate(MAX_WARNING_BYTES);
            response.append_header("svc-aig-warning", warnings)?;
        }
        if let Some(model) = self.routed_model.as_deref().map(HeaderValue::from_str).and_then(Result::ok) {
            response.insert_header("svc-aig-model", model)?;
            response.insert_header("svc-aig-provider", &self.provider.slug)?;
        }
        let mut left: Vec<(Measure, u64)> = Vec::new();
        for (measure, remaining) in self.reservations.iter().flat_map(Reservation::remaining) {
            match left.iter_mut().find(|(known, _)| *known == measure) {
                // Whichever ends first.
                Some((_, least)) => *least = remaining.min(*least),
                None => left.push((measure, remaining)),
            }
        }
        for (measure, remaining) in left {
            let (name, value) = remaining_field(measure, remaining);
            response.insert_header(name, value)?;
        }
        let asked = self.asked_at.unwrap_or(elapsed);
        response.append_header(
            "server-timing",
            format!(
                "gw;dur={:.3}, up;dur={:.3}",
                milliseconds(asked),
                milliseconds(elapsed.saturating_sub(asked))
            ),
        )?;
        Ok(())
    }

    /// Says what was found in the call so far.
    pub(super) fn tell_flagged(&self, response: &mut ResponseHeader) -> pingora::Result<()> {
        match self.flagged.field() {
            Some(field) => response.insert_header("svc-aig-dlp", field),
            None => Ok(()),
        }
    }

    /// Takes a piece of the answer on its way to the client.
    pub(super) fn answer_chunk(&mut self, chunk: &Bytes, elapsed: impl FnOnce() -> Duration) {
        if chunk.is_empty() {
            return;
        }
        if self.first_byte_at.is_none() {
            self.first_byte_at = Some(elapsed());
        }
        self.response.push(chunk);
        if let Some(answer) = &mut self.answer {
            answer.tap.push(chunk);
        }
    }

    /// Whether its answer is a stream of events of a server of tools.
    pub(super) fn is_stream_of_tools(&self) -> bool {
        let is_stream = |kind: &str| body::is_event_stream(body::media_type(kind.as_bytes()));
        self.mcp.is_some() && self.answer.as_ref().is_some_and(|answer| is_stream(&answer.content_type))
    }

    /// Takes a piece of what a provider sends over an upgraded connection; of frames no copy is kept.
    pub(super) fn upgraded_chunk(&mut self, chunk: &Bytes, elapsed: impl FnOnce() -> Duration) {
        if self.first_byte_at.is_none() {
            self.first_byte_at = Some(elapsed());
        }
        if let Some(answer) = &mut self.answer {
            answer.tap.push(chunk);
        }
    }

    /// The operation, and the tool that it calls.
    fn operation(&self) -> (&'static str, String) {
        match &self.mcp {
            Some(McpCall { tool: Some(tool), .. }) => (EXECUTE_TOOL, tool.clone()),
            Some(_) => ("other", String::new()),
            None => (::gateway::operation(&self.path), String::new()),
        }
    }

    /// What the recorder needs of it.
    pub(super) fn finish(self, end: End, prices: Arc<Prices>, ray: &str, created_at: String) -> Finished {
        let collect_log = self.collects_log();
        let (model_type, tool) = self.operation();
        let settings = &self.gateway.settings;
        let collect_payloads =
            collect_log && self.options.collect_log_payload.unwrap_or(settings.collect_log_payloads);
        let provider_status = self.answer.as_ref().map(|answer| answer.status);
        let (tap, is_stream, response_content_type, response_coding) = match self.answer {
            Some(answer) => (Some(answer.tap), answer.is_stream, answer.content_type, answer.coding),
            None => (None, false, String::new(), Vec::new()),
        };
        let log = AiLog {
            id: self.id,
            created_at,
            account_id: self.gateway.account.clone(),
            gateway_id: self.gateway.id.clone(),
            event_id: self.options.event_id,
            provider: self.provider.slug.clone(),
            model_type: model_type.to_owned(),
            model: tool,
            path: self.path,
            status_code: end.status,
            success: (end.status == 101 || (200..400).contains(&end.status)) && end.error.is_none(),
            cached: self.cached,
            duration: milliseconds(end.duration),
            metadata: self.options.metadata.entries,
            step: self.step,
            route: self.route,
            request_type: self.request_type.to_owned(),
            request_content_type: self.request_content_type,
            response_content_type,
            authentication: self.gateway.authentication,
            token_id: self.token.map(|token| token.to_string()),
            error: end.error.map(str::to_owned),
            time_to_first_byte: self.first_byte_at.map(milliseconds),
            gateway_duration: milliseconds(self.asked_at.unwrap_or(end.duration)),
            ray: ray.to_owned(),
            findings: [self.flagged.findings, end.findings, self.content].concat(),
            ..AiLog::default()
        };
        Finished {
            log,
            telemetry_name: self.provider.telemetry_name,
            collect_log,
            collect_payloads,
            request: self.request,
            response: self.response,
            response_coding,
            provider_status,
            tap,
            is_stream,
            custom_cost: self.options.custom_cost,
            prices,
            waf: self.gateway.waf.clone(),
            scan: Arc::clone(&self.gateway.scan),
            reservations: self.reservations,
            one_attempt: self.one_attempt,
            unanswered: self.unanswered,
            is_sent: self.is_sent,
            counts_caller_price: settings.caller_prices,
            log_cap: settings.log_cap(),
            payload_bytes: settings.log_payload_bytes,
            streamed_for: self
                .first_byte_at
                .map_or(Duration::ZERO, |first| end.duration.saturating_sub(first)),
            span: None,
            collected: None,
        }
    }
}

/// The field that says what is left of a limit: money in dollars.
pub(super) fn remaining_field(measure: Measure, remaining: u64) -> (&'static str, String) {
    match measure {
        Measure::Requests => ("svc-aig-requests-remaining", remaining.to_string()),
        Measure::Tokens => ("svc-aig-tokens-remaining", remaining.to_string()),
        Measure::Cost => (
            "svc-aig-budget-remaining",
            format!("{}.{:09}", remaining / 1_000_000_000, remaining % 1_000_000_000),
        ),
    }
}

fn text(headers: &HeaderMap, name: &http::HeaderName) -> String {
    String::from_utf8_lossy(headers::bytes(headers, name)).into_owned()
}

/// A ULID: 48 bits of milliseconds and 80 that no other call has, in Crockford's Base32 (ulid/spec).
pub(super) fn ulid(now: Duration, unique: u64) -> String {
    let milliseconds = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let rest = u128::from(unique) << 16 | u128::from(now.subsec_micros() & 0xffff);
    ulid::Ulid::from_parts(milliseconds, rest).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Measure;

    #[test]
    fn ids_sort_by_time_and_differ() {
        let id = |seconds, unique| ulid(Duration::from_secs(seconds), unique);
        assert_eq!(id(0, 0), "0".repeat(26));
        assert!(id(1000, u64::MAX) < id(1001, 0) && id(5, 1) != id(5, 2));
        // The largest moment of the definition.
        assert!(ulid(Duration::from_millis((1 << 48) - 1), 0).starts_with("7ZZZZZZZZZ"));
    }

    #[test]
    fn money_left_is_in_dollars() {
        assert_eq!(remaining_field(Measure::Cost, 1_500_000_000).1, "1.500000000");
    }
}
