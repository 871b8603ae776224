//! A call that ended, and what is made of it: usage, cost, score, findings, the payloads that are kept.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::ai::call_scan::CallScan;
use crate::events::Events;
use crate::events::spans::{Collectors, TraceSpan};
use crate::ruleset::EntryPoint;
use crate::scanning::Subject;
use body::decompress::{self, Coding};
use expression::Facts;
use gateway::body_copy::BodyCopy;
use gateway::limit::{Amounts, Reservation, Used};
use gateway::mcp::McpFailure;
use gateway::options::CustomCost;
use gateway::price::Prices;
use gateway::usage::{self, BYTES_PER_TOKEN, Report, Tap, Usage, UsageSource};
use model::{AiLog, Counted, LogCap};
use seclang::BodyLimits;
use seclang::RequestHead;

/// A call that ended.
#[derive(Debug, Default)]
pub struct Finished {
    /// What is known of it; usage and cost are filled in here.
    pub log: AiLog,
    pub telemetry_name: &'static str,
    pub collect_log: bool,
    /// How many rows its gateway keeps.
    pub log_cap: Option<LogCap>,
    pub collect_payloads: bool,
    pub request: BodyCopy,
    pub response: BodyCopy,
    pub response_coding: Vec<u8>,
    /// What the provider answered; nothing if it did not.
    pub provider_status: Option<u16>,
    pub tap: Option<Tap>,
    pub is_stream: bool,
    pub custom_cost: Option<CustomCost>,
    pub prices: Arc<Prices>,
    pub waf: Option<Arc<EntryPoint>>,
    pub scan: Arc<CallScan>,
    /// Bytes of each body that are kept with the row.
    pub payload_bytes: usize,
    pub reservations: Vec<Reservation>,
    /// What one attempt uses at least.
    pub one_attempt: Amounts,
    /// Attempts that the provider got and did not answer.
    pub unanswered: u32,
    /// Whether the provider got the request of the last attempt.
    pub is_sent: bool,
    /// Whether limits of money go by what the caller says that a call costs.
    pub counts_caller_price: bool,
    /// From the first byte of the answer to the last.
    pub streamed_for: Duration,
    /// The span that is kept of it.
    pub span: Option<Box<TraceSpan>>,
    /// The span that the collectors of its gateway get, and who they are.
    pub collected: Option<(Box<TraceSpan>, Collectors)>,
}

impl Finished {
    /// Bytes that it is counted with while it waits.
    pub(super) fn size(&self) -> usize {
        let held = |copy: &BodyCopy| usize::try_from(copy.size().min(300 << 10)).unwrap_or(0);
        4096 + held(&self.request) + held(&self.response)
    }

    /// Fills in what the answer says, and settles the limits. What they counted is returned with it.
    pub(super) fn complete(&mut self) -> (Usage, String, Vec<Counted>) {
        // A call of a tool asks no model: one that it names is data of the tool.
        let is_of_tools = self.log.request_type == "mcp";
        let facts = match is_of_tools {
            true => usage::RequestFacts::default(),
            false => usage::facts(&self.log.path, &self.request.ends()),
        };
        let is_answered = self.tap.is_some();
        let report = self.tap.take().map(Tap::finish).unwrap_or_default();
        let (usage, source) = self.usage(&report);
        let failure = report.failure.filter(|_| is_ok(self.status()));
        let asked = facts.model.unwrap_or_default();
        let log = &mut self.log;
        if !is_of_tools {
            log.model = report.model.unwrap_or_else(|| asked.clone());
        }
        if report.has_error || failure.is_some() {
            let word = failure.map_or("provider_error", McpFailure::word);
            log.success = false;
            log.error.get_or_insert_with(|| word.to_owned());
        }
        let tier = report.service_tier.or(facts.service_tier);
        let cost = [log.model.as_str(), asked.as_str()]
            .into_iter()
            .find_map(|model| self.prices.cost(&log.provider, model, &usage, tier.as_deref()));
        let custom = self.custom_cost.filter(|_| source != UsageSource::None).map(|cost| cost.of(&usage));
        log.custom_cost = custom.is_some();
        let counted = custom.filter(|_| self.counts_caller_price).or(cost.as_ref().map(|cost| cost.nanos));
        let nanos = custom.or(cost.as_ref().map(|cost| cost.nanos)).filter(|_| source != UsageSource::None);
        log.cost = if log.cached { Some(0.0) } else { nanos.map(dollars) };
        log.tokens_in = usage.input;
        log.tokens_out = usage.output;
        log.tokens_cache_read = usage.cache_read;
        log.tokens_cache_write = usage.cache_write;
        log.tokens_reasoning = usage.reasoning;
        log.usage_source = source.word().to_owned();
        log.request_size = self.request.size();
        log.response_size = self.response.size();
        let used = match () {
            // Neither what is answered from memory is billed, nor what never got there or was refused.
            () if self.log.cached || !self.is_sent => Used::NOTHING,
            () if is_answered && !is_ok(self.status()) => Used::NOTHING,
            () if !is_answered || source == UsageSource::None => Used::AS_RESERVED,
            () => Used { tokens: Some(usage.tokens()), cost_nanos: counted },
        };
        let used = used.and(self.one_attempt, self.unanswered);
        let counted = self.reservations.drain(..).flat_map(|reservation| reservation.settle(used)).collect();
        (usage, cost.map_or_else(|| "other".to_owned(), |cost| cost.model), counted)
    }

    /// What the provider answered: it bills that, whatever the client got.
    fn status(&self) -> u16 {
        self.provider_status.unwrap_or(self.log.status_code)
    }

    /// Only answers that went well are counted; of those that no one counted the texts are measured.
    fn usage(&self, report: &Report) -> (Usage, UsageSource) {
        if !is_ok(self.status()) || self.log.cached {
            return (Usage::default(), UsageSource::None);
        }
        let (usage, makes_text) =
            (report.usage, self.log.model_type == "chat" || self.log.model_type == "text_completion");
        let estimate = || Some(report.text_bytes.div_ceil(BYTES_PER_TOKEN));
        match (usage.input, usage.output) {
            (Some(_), Some(_)) => (usage, UsageSource::Provider),
            // A stream that was cut off before its last counts.
            (Some(_), None) if makes_text => (Usage { output: estimate(), ..usage }, UsageSource::Estimated),
            (Some(_), None) | (None, Some(_)) => (usage, UsageSource::Provider),
            (None, None) if makes_text => {
                let input = Some(self.request.size().div_ceil(BYTES_PER_TOKEN));
                (Usage { input, output: estimate(), ..usage }, UsageSource::Estimated)
            }
            (None, None) => (Usage::default(), UsageSource::None),
        }
    }

    /// Scores the request by the web rules. They judge fields by value, and let texts and code be.
    pub(super) fn score(&mut self) {
        let Some(entry_point) = self.waf.take() else { return };
        let (body, is_all) = self.request.head();
        let head = RequestHead {
            method: b"POST",
            target: self.log.path.as_bytes(),
            protocol: "HTTP/1.1",
            headers: &[(b"host", b"gateway"), (b"content-type", self.log.request_content_type.as_bytes())],
            client: Ipv4Addr::LOCALHOST.into(),
            server: None,
            request_id: &self.log.ray,
            received: Duration::ZERO,
        };
        let mut run = entry_point.start(&Facts::of_request(&head), BodyLimits::default(), &mut ());
        run.body(&body, !is_all, &mut ());
        let verdict = run.verdict();
        self.log.waf_score = Some(verdict.score.all);
        self.log.waf_rules = verdict.matches.iter().filter(|m| m.score > 0).map(|m| m.rule).collect();
    }

    /// Looks for sensitive data in the copies.
    pub(super) fn scan(&mut self, events: &Events) {
        let scan = std::mem::take(&mut self.scan);
        let subject = Subject::of_call(&self.log.account_id, &self.log.ray, &self.log.path);
        // What may be held back was looked at before it went on.
        let [requests, responses] =
            [&scan.requests, &scan.responses].map(|stage| stage.as_ref().filter(|scan| !scan.may_block()));
        if let Some(scan) = requests {
            let found = scan.scan(&self.request.ends(), b"", &subject, events);
            self.log.findings.extend(found.findings);
        }
        if let Some(scan) = responses {
            let (response, _) = decoded(&self.response, &self.response_coding);
            let content_type = self.log.response_content_type.as_bytes();
            self.log.findings.extend(scan.scan(&response, content_type, &subject, events).findings);
        }
    }

    /// Keeps the beginnings of the bodies, if they are to be kept.
    pub(super) fn payloads(&mut self) {
        if !self.collect_payloads {
            return;
        }
        let text = |bytes: &[u8]| {
            let kept = bytes.get(..self.payload_bytes).unwrap_or(bytes);
            // Nearly all are UTF-8, and to know that takes a tenth of what replacing takes.
            let text = str::from_utf8(kept)
                .map_or_else(|_| String::from_utf8_lossy(kept).into_owned(), str::to_owned);
            (text, kept.len() == bytes.len())
        };
        let (request, complete) = self.request.head();
        let (head, is_all) = text(&request);
        (self.log.request_head, self.log.request_head_complete) = (Some(head), complete && is_all);
        let (response, complete) = decoded(&self.response, &self.response_coding);
        let (head, is_all) = text(&response);
        (self.log.response_head, self.log.response_head_complete) = (Some(head), complete && is_all);
    }
}

fn is_ok(status: u16) -> bool {
    status == 101 || (200..300).contains(&status)
}

/// The beginning of an answer as a reader sees it, and whether that is all.
fn decoded(response: &BodyCopy, coding: &[u8]) -> (Bytes, bool) {
    let (response, complete) = response.head();
    let limits = decompress::Limits { output_bytes: 1 << 20, ratio: 1000 };
    match Coding::of(coding) {
        Some(Coding::Identity) | None => (response, complete),
        Some(coding) => {
            let decoded = decompress::decode(coding, &response, limits);
            (decoded.bytes.into(), complete && decoded.end == decompress::End::Complete)
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a call costs far less than 2^52 nanodollars")]
fn dollars(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}
