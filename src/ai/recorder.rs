//! The end of a call, off its path: usage, cost, limits settled, metrics, the row in the log.
//!
//! One thread takes finished calls from a queue bounded in bytes. What does not fit loses its row, is
//! counted, and is settled at what was reserved for it.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use bytes::Bytes;

use super::Gateways;
use super::body_copy::BodyCopy;
use super::limit::{Amounts, Caller, Ledger, Reservation};
use super::metadata::Metadata;
use super::options::CustomCost;
use super::price::{self, Prices};
use super::scan::Finding;
use super::usage::{self, Report, Tap, Usage, UsageSource};
use crate::body::decompress::{self, Coding};
use crate::clock::{Clock, Stopwatch, rfc3339};
use crate::detection;
use crate::detection::plan::Subject;
use crate::events::Events;
use crate::events::kinds::{AiCall, AiLogDropped, ServiceFailed};
use crate::model::AiLog;
use crate::model::gateway::Scan;
use crate::ruleset::EntryPoint;
use crate::ruleset::expression::Facts;
use crate::waf::RequestHead;
use crate::waf::matcher::BodyLimits;

/// Most bytes of calls that wait.
const MAX_QUEUED_BYTES: usize = 64 << 20;
/// Rows that are written at once.
const MAX_BATCH: usize = 512;
/// From so many calls at once on more are gathered before the next look: waking a thread for each costs
/// its caller more than the rest of the call.
const BUSY_BATCH: usize = 4;
/// Whoever shares a processor with the thread waits for as long as a batch takes: many small ones.
const GATHER: Duration = Duration::from_millis(1);
/// After so long without a call what could wait is done.
const IDLE: Duration = Duration::from_millis(200);
/// Bytes of a body that are kept with its row.
const MAX_PAYLOAD_BYTES: usize = 64 << 10;
/// How long the end of the process waits for the last rows.
const FLUSH: Duration = Duration::from_secs(10);
/// Bytes that a token is taken for where nobody counts: English and code have about four.
pub const BYTES_PER_TOKEN: u64 = 4;

/// Where rows are kept.
pub trait RecordLog: Send {
    /// Appends rows, durably.
    ///
    /// # Errors
    /// One sentence where they cannot be written; none of them is then.
    fn append(&mut self, rows: &[AiLog]) -> Result<(), String>;

    /// Lets go of rows that were made before a moment (RFC 3339).
    ///
    /// # Errors
    /// One sentence where they cannot be deleted.
    fn expire(&mut self, before: &str) -> Result<(), String>;

    /// Does what can wait until nothing else is to be done.
    ///
    /// # Errors
    /// One sentence where it cannot be done; nothing is lost by it.
    fn tidy(&mut self) -> Result<(), String>;
}

/// How long rows are kept.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Zero for no end.
    pub age: Duration,
    pub clock: Clock,
}

impl Retention {
    /// How often old rows are looked for: a tenth of their age, and once a minute at least.
    fn interval(self) -> Duration {
        (self.age / 10).clamp(Duration::from_millis(100), Duration::from_mins(1))
    }
}

/// Where rows are read.
pub trait RecordReader: Send {
    /// Rows without their bodies, and how many there are in all.
    ///
    /// # Errors
    /// One sentence where they cannot be read.
    fn page(&self, query: &LogQuery) -> Result<(Vec<AiLog>, u64), String>;

    /// A row by its id.
    ///
    /// # Errors
    /// One sentence where it cannot be read.
    fn get(&self, id: &str) -> Result<Option<AiLog>, String>;
}

/// Which rows are asked for.
#[derive(Clone, Debug, Default)]
pub struct LogQuery {
    /// `account/gateway`
    pub gateway: String,
    pub skip: u64,
    pub limit: u32,
    /// The oldest first.
    pub ascending: bool,
    /// RFC 3339; from the first, up to but not with the second.
    pub start_date: Option<String>,
    pub end_date: Option<String>,
    pub success: Option<bool>,
    pub cached: Option<bool>,
    pub provider: Option<String>,
    pub model: Option<String>,
}

/// A call that ended.
#[derive(Debug)]
pub struct Finished {
    /// What is known of it; usage and cost are filled in here.
    pub log: AiLog,
    pub telemetry_name: &'static str,
    pub collect_log: bool,
    pub collect_payloads: bool,
    pub request: BodyCopy,
    pub response: BodyCopy,
    pub response_coding: Vec<u8>,
    pub tap: Option<Tap>,
    pub is_stream: bool,
    pub custom_cost: Option<CustomCost>,
    pub prices: Arc<Prices>,
    pub waf: Option<Arc<EntryPoint>>,
    pub scan: Option<detection::Plan>,
    pub scan_requests: Scan,
    pub scan_responses: Scan,
    pub reservation: Option<Reservation>,
    /// From the first byte of the answer to the last.
    pub streamed_for: Duration,
}

/// Counts calls of the past towards the limits of today.
pub fn recover(ledger: &Ledger, gateways: &Gateways, past: &[AiLog], now: Duration) {
    for row in past {
        let gateway = gateways.by_account.get(&row.account_id).and_then(|all| all.get(&row.gateway_id));
        let Some(gateway) = gateway.filter(|gateway| !gateway.settings.limits.is_empty()) else { continue };
        let Ok(at) = row.created_at.parse::<jiff::Timestamp>() else { continue };
        let at = Duration::from_micros(u64::try_from(at.as_microsecond()).unwrap_or(0));
        let metadata = Metadata { entries: row.metadata.clone(), warnings: Vec::new() };
        let caller = Caller {
            gateway: &gateway.label,
            token: row.token_id.as_deref(),
            provider: &row.provider,
            model: Some(&row.model),
            metadata: &metadata,
        };
        let used = Amounts {
            tokens: row.tokens_in.unwrap_or(0) + row.tokens_out.unwrap_or(0),
            cost_nanos: row.cost.and_then(price::nanos).unwrap_or(0),
        };
        ledger.recover(&gateway.settings.limits, caller, used, at, now);
    }
}

/// The way to the recorder; clones share one queue.
#[derive(Clone, Debug)]
pub struct Recorder {
    calls: Sender<Job>,
    queued: Arc<AtomicUsize>,
    ledger: Arc<Ledger>,
    events: Events,
}

#[derive(Debug)]
enum Job {
    Call(Box<Finished>),
    /// Says when everything before it is done.
    Flush(Sender<()>),
}

impl Recorder {
    /// Starts the thread; it ends when the last clone is gone.
    pub fn start(
        ledger: Arc<Ledger>,
        rows: Box<dyn RecordLog>,
        retention: Retention,
        events: Events,
    ) -> Self {
        let (calls, waiting) = channel();
        let queued = Arc::new(AtomicUsize::new(0));
        let work = Work { events: events.clone(), rows, retention, batch: Vec::new(), is_tidy: true };
        let counted = Arc::clone(&queued);
        let thread = std::thread::Builder::new().name("ai-log".to_owned());
        if let Err(error) = thread.spawn(move || work.run(&waiting, &counted)) {
            let error = format!("cannot start a thread: {error}");
            events.emit(&ServiceFailed { service: "ai-log", error });
        }
        Self { calls, queued, ledger, events }
    }

    /// Hands a call over. Never waits.
    pub fn finish(&self, mut call: Finished) {
        let size = call.size();
        let is_full = self.queued.fetch_add(size, Ordering::Relaxed) + size > MAX_QUEUED_BYTES;
        if is_full {
            self.queued.fetch_sub(size, Ordering::Relaxed);
            if let Some(reservation) = call.reservation.take() {
                reservation.settle_as_reserved();
            }
            self.events.emit(&AiLogDropped { rows: 1, reason: "queue_full" });
            return;
        }
        // Only fails where the thread is gone, at the end of the process.
        let _ = self.calls.send(Job::Call(Box::new(call)));
    }

    /// Waits until every call so far is written.
    pub fn flush(&self) {
        let (done, waiting) = channel();
        if self.calls.send(Job::Flush(done)).is_ok() {
            // Past the time the process ends all the same.
            let _ = waiting.recv_timeout(FLUSH);
        }
    }

    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }
}

impl Finished {
    fn size(&self) -> usize {
        let held = |copy: &BodyCopy| usize::try_from(copy.size().min(300 << 10)).unwrap_or(0);
        4096 + held(&self.request) + held(&self.response)
    }

    /// Fills in what the answer says.
    fn complete(&mut self) -> (Usage, String) {
        let facts = usage::facts(&self.log.path, &self.request.ends());
        let report = self.tap.take().map(Tap::finish).unwrap_or_default();
        let (usage, source) = self.usage(&report);
        let asked = facts.model.unwrap_or_default();
        let log = &mut self.log;
        log.model = report.model.unwrap_or_else(|| asked.clone());
        if report.has_error {
            log.success = false;
            log.error.get_or_insert_with(|| "provider_error".to_owned());
        }
        let tier = report.service_tier.or(facts.service_tier);
        let cost = [log.model.as_str(), asked.as_str()]
            .into_iter()
            .find_map(|model| self.prices.cost(&log.provider, model, &usage, tier.as_deref()));
        let custom =
            self.custom_cost.filter(|_| source != UsageSource::None).and_then(|cost| cost.of(&usage));
        log.custom_cost = custom.is_some();
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
        (usage, cost.map_or_else(|| "other".to_owned(), |cost| cost.model))
    }

    /// Only answers that went well are counted; of those that no one counted the texts are measured.
    fn usage(&self, report: &Report) -> (Usage, UsageSource) {
        let status = self.log.status_code;
        let is_ok = (status == 101 || (200..300).contains(&status)) && !self.log.cached;
        if !is_ok {
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
    fn score(&mut self) {
        let Some(entry_point) = self.waf.take() else { return };
        let (body, is_all) = self.request.head();
        let head = RequestHead {
            method: b"POST",
            target: self.log.path.as_bytes(),
            protocol: "HTTP/1.1",
            headers: &[(b"host", b"gateway"), (b"content-type", self.log.request_content_type.as_bytes())],
            client: Ipv4Addr::LOCALHOST.into(),
            request_id: &self.log.ray,
            received: Duration::ZERO,
        };
        let mut run = entry_point.start(&Facts::of_request(&head), BodyLimits::default(), &mut ());
        run.body(&body, !is_all, &mut ());
        let verdict = run.verdict();
        self.log.waf_score = Some(verdict.score);
        self.log.waf_rules = verdict.matches.iter().filter(|m| m.score > 0).map(|m| m.rule).collect();
    }

    /// Looks for sensitive data in the copies.
    fn scan(&mut self, events: &Events) {
        let Some(plan) = self.scan.take() else { return };
        let subject = subject(&self.log.ray, &self.log.path);
        let mut check = |check: &str, body: &[u8]| {
            let findings = plan.scan(body, &subject.ray, None);
            detection::plan::report(&findings, &subject, "log", false, events);
            self.log.findings.extend(findings.found.iter().map(|found| Finding::of(check, found)));
        };
        if self.scan_requests != Scan::Off {
            check("REQUEST", &self.request.ends());
        }
        if self.scan_responses != Scan::Off {
            check("RESPONSE", &decoded(&self.response, &self.response_coding).0);
        }
    }

    fn payloads(&mut self) {
        if !self.collect_payloads {
            return;
        }
        let text = |bytes: &[u8]| {
            let kept = bytes.get(..MAX_PAYLOAD_BYTES).unwrap_or(bytes);
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

/// A call, for the events of what was found in it.
pub fn subject(ray: &str, path: &str) -> Subject {
    Subject { ray: ray.to_owned(), zone: "gateway".to_owned(), host: String::new(), path: path.to_owned() }
}

impl CustomCost {
    #[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^52")]
    fn of(self, usage: &Usage) -> Option<u64> {
        let count = |tokens: Option<u64>| tokens.unwrap_or(0) as f64;
        price::nanos(count(usage.input) * self.per_token_in + count(usage.output) * self.per_token_out)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a call costs far less than 2^52 nanodollars")]
fn dollars(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// What the thread works with.
struct Work {
    events: Events,
    rows: Box<dyn RecordLog>,
    retention: Retention,
    batch: Vec<AiLog>,
    /// Whether nothing was written since the last look.
    is_tidy: bool,
}

impl Work {
    fn run(mut self, waiting: &Receiver<Job>, queued: &AtomicUsize) {
        let mut swept: Option<Stopwatch> = None;
        loop {
            if swept.is_none_or(|swept| swept.elapsed() >= self.retention.interval()) {
                self.expire();
                swept = Some(self.retention.clock.start());
            }
            let patience =
                if self.is_tidy { self.retention.interval() } else { IDLE.min(self.retention.interval()) };
            let job = match waiting.recv_timeout(patience) {
                Ok(job) => job,
                Err(RecvTimeoutError::Timeout) => {
                    self.tidy();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut flushed = Vec::new();
            let mut calls = 0;
            let mut next = Some(job);
            while let Some(job) = next {
                match job {
                    Job::Call(call) => self.take(*call, queued),
                    Job::Flush(done) => flushed.push(done),
                }
                calls += 1;
                next = if calls < MAX_BATCH { waiting.try_recv().ok() } else { None };
            }
            self.write();
            for done in flushed {
                // Who asked may have stopped waiting.
                let _ = done.send(());
            }
            if calls >= BUSY_BATCH {
                std::thread::sleep(GATHER);
            }
        }
    }

    fn expire(&mut self) {
        let Retention { age, clock } = self.retention;
        let Some(before) = clock.now().checked_sub(age).filter(|_| !age.is_zero()) else { return };
        let expired = self.rows.expire(&rfc3339(before));
        self.tell(expired);
    }

    fn tidy(&mut self) {
        if !std::mem::replace(&mut self.is_tidy, true) {
            let tidied = self.rows.tidy();
            self.tell(tidied);
        }
    }

    fn tell(&self, done: Result<(), String>) {
        if let Err(error) = done {
            self.events.emit(&ServiceFailed { service: "ai-log", error });
        }
    }

    fn take(&mut self, mut call: Finished, queued: &AtomicUsize) {
        let size = call.size();
        let reservation = call.reservation.take();
        let (usage, model) = call.complete();
        if let Some(reservation) = reservation {
            let tokens = usage.input.unwrap_or(0) + usage.output.unwrap_or(0);
            let cost_nanos = call.log.cost.and_then(price::nanos).unwrap_or(0);
            reservation.settle(Amounts { tokens, cost_nanos });
        }
        call.score();
        call.scan(&self.events);
        self.events.emit(&AiCall {
            log: &call.log,
            usage: &usage,
            telemetry_name: call.telemetry_name,
            priced_model: &model,
            is_stream: call.is_stream,
            streamed_for: call.streamed_for,
            writes_line: call.collect_log,
        });
        if call.collect_log {
            call.payloads();
            self.batch.push(call.log);
        }
        queued.fetch_sub(size, Ordering::Relaxed);
    }

    fn write(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let written = self.rows.append(&self.batch);
        if written.is_err() {
            self.events.emit(&AiLogDropped { rows: self.batch.len(), reason: "not_written" });
        }
        self.tell(written);
        self.batch.clear();
        self.is_tidy = false;
    }
}
