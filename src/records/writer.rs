//! The thread that writes rows: takes what waits, writes it as one batch, then waits for more to gather.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::{Finished, Retention, Waiting};
use crate::clock::{Stopwatch, rfc3339};
use crate::events::Events;
use crate::events::kinds::{AiCall, AiLogDropped, ServiceFailed};
use crate::events::spans::{CallSpan, TraceSpan};
use gateway::usage::Usage;
use model::Counted;
use store::{NewRecord, RecordLog};

/// Most calls whose rows are written at once.
const BATCH: usize = 512;
/// How long calls gather before they are written. A thread that is woken for each call costs its caller more than
/// the row does.
const FLUSH_INTERVAL: Duration = Duration::from_millis(20);
/// How often the write-ahead log is copied into the file while rows come.
const TIDY_INTERVAL: Duration = Duration::from_secs(1);
/// Fewest old rows that are deleted at once.
const SWEPT_ROWS: usize = 64;
/// Written rows after which the oldest are looked for.
const ROWS_BETWEEN_SWEEPS: usize = 10_000;
/// How far the thread stands back behind those that serve (nice(2)).
const NICENESS: i32 = 15;

/// What the thread works with.
pub(super) struct Writer {
    calls: Receiver<Box<Finished>>,
    waiting: Arc<Waiting>,
    events: Events,
    rows: Box<dyn RecordLog>,
    retention: Retention,
    batch: Vec<NewRecord>,
    /// What limits counted since it was last written.
    counted: Vec<Counted>,
    /// When all old rows were gone; `None` if some may still be there.
    swept: Option<Stopwatch>,
    rows_since_sweep: usize,
    /// When rows were first written after the log was last copied into the file.
    untidy: Option<Stopwatch>,
}

impl Writer {
    pub(super) fn new(
        calls: Receiver<Box<Finished>>,
        waiting: Arc<Waiting>,
        rows: Box<dyn RecordLog>,
        retention: Retention,
        events: Events,
    ) -> Self {
        Self {
            calls,
            waiting,
            events,
            rows,
            retention,
            batch: Vec::new(),
            counted: Vec::new(),
            swept: None,
            rows_since_sweep: 0,
            untidy: None,
        }
    }

    /// Starts the thread. It ends when no more calls can come and all are written.
    pub(super) fn spawn(self) {
        let events = self.events.clone();
        if let Err(error) = std::thread::Builder::new().name("ai-log".to_owned()).spawn(|| self.run()) {
            report(&events, Err(format!("cannot start a thread: {error}")));
        }
    }

    fn run(mut self) {
        // If this is refused, the thread takes its turn like all others. On Linux it is the thread that gives way,
        // not the process.
        if cfg!(target_os = "linux") {
            let _ = rustix::process::nice(NICENESS);
        }
        loop {
            let first = match self.calls.recv_timeout(self.longest_wait()) {
                Ok(call) => Some(call),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let calls = first.map_or(0, |first| self.write_batch(first));
            self.tidy();
            self.sweep(calls);
            if (1..BATCH).contains(&calls) {
                std::thread::sleep(FLUSH_INTERVAL);
            }
        }
        self.untidy.take();
        report(&self.events, self.rows.tidy());
    }

    /// How long the thread may wait for a call before something else is due.
    fn longest_wait(&self) -> Duration {
        match (self.swept, self.untidy) {
            (None, _) => Duration::ZERO,
            (Some(_), Some(_)) => TIDY_INTERVAL,
            (Some(_), None) => self.retention.interval(),
        }
    }

    /// Writes the rows of a call and of those that wait behind it. Returns how many calls there were.
    fn write_batch(&mut self, first: Box<Finished>) -> usize {
        let (mut calls, mut bytes) = (0, 0);
        let mut next = Some(first);
        while let Some(call) = next {
            calls += 1;
            bytes += call.size();
            self.take(*call);
            next = if calls < BATCH { self.calls.try_recv().ok() } else { None };
        }
        self.write();
        self.waiting.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.waiting.calls.fetch_sub(calls, Ordering::Release);
        calls
    }

    fn take(&mut self, mut call: Finished) {
        let (usage, model, counted) = call.complete();
        self.counted.extend(counted);
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
        if let Some(span) = call.span.take() {
            self.events.span(spanned(*span, &call, &usage));
        }
        call.payloads();
        if let Some((span, collectors)) = call.collected.take() {
            let gateway = format!("{}/{}", call.log.account_id, call.log.gateway_id);
            let span = with_payloads(spanned(*span, &call, &usage), &call);
            self.events.call_span(CallSpan::new(span, gateway, collectors));
        }
        if call.collect_log {
            self.batch.push(NewRecord { log: call.log, cap: call.log_cap });
        }
    }

    fn write(&mut self) {
        if self.batch.is_empty() && self.counted.is_empty() {
            return;
        }
        let written = self.rows.append(&self.batch, &self.counted);
        if written.is_err() && !self.batch.is_empty() {
            self.events.emit(&AiLogDropped { rows: self.batch.len(), reason: "not_written" });
        }
        // Their owner said so: they are counted and cause no line.
        let unwanted = *written.as_ref().unwrap_or(&0);
        if unwanted > 0 {
            let dropped = &self.events.metrics().ai_logs_dropped;
            dropped.with_label_values(&["gateway_full"]).inc_by(unwanted as u64);
        }
        report(&self.events, written.map(|_| ()));
        self.rows_since_sweep += self.batch.len();
        self.batch.clear();
        self.counted.clear();
        self.untidy.get_or_insert_with(|| self.retention.clock.start());
    }

    /// Copies the write-ahead log into the file, if rows have waited for it long enough.
    fn tidy(&mut self) {
        if self.untidy.is_some_and(|since| since.elapsed() >= TIDY_INTERVAL) {
            self.untidy = None;
            report(&self.events, self.rows.tidy());
        }
    }

    /// Deletes old rows: a few at a time, but more than come.
    fn sweep(&mut self, calls: usize) {
        let Retention { age, clock } = self.retention;
        let is_due = self.rows_since_sweep >= ROWS_BETWEEN_SWEEPS
            || self.swept.is_none_or(|swept| swept.elapsed() >= self.retention.interval());
        if !is_due {
            return;
        }
        let before = clock.now().checked_sub(age).filter(|_| !age.is_zero()).map(rfc3339);
        let swept = self.rows.sweep(before.as_deref(), SWEPT_ROWS.max(2 * calls));
        let is_more = *swept.as_ref().unwrap_or(&false);
        report(&self.events, swept.map(|_| ()));
        self.swept = if is_more { None } else { Some(clock.start()) };
        self.rows_since_sweep = 0;
    }
}

fn report(events: &Events, done: Result<(), String>) {
    if let Err(error) = done {
        events.emit(&ServiceFailed { service: "ai-log", error });
    }
}

/// A span with what is known of its call, by the conventions for generative AI.
fn spanned(mut span: TraceSpan, call: &Finished, usage: &Usage) -> TraceSpan {
    let log = &call.log;
    span.set_name(format!("{} {}", log.model_type, log.model).trim_end());
    span.has_failed = !log.success;
    for (name, value) in [
        ("gen_ai.operation.name", log.model_type.as_str()),
        ("gen_ai.provider.name", call.telemetry_name),
        ("gen_ai.request.model", &log.model),
        ("error.type", log.error.as_deref().unwrap_or("")),
        ("portcullis.gateway", &format!("{}/{}", log.account_id, log.gateway_id)),
        ("portcullis.ray", &log.ray),
    ] {
        span.text(name, value);
    }
    span.int("http.response.status_code", log.status_code);
    for (name, tokens) in [
        ("gen_ai.usage.input_tokens", usage.input),
        ("gen_ai.usage.output_tokens", usage.output),
        ("gen_ai.usage.cache_read.input_tokens", usage.cache_read),
        ("gen_ai.usage.cache_creation.input_tokens", usage.cache_write),
    ] {
        if let Some(tokens) = tokens {
            span.int(name, tokens);
        }
    }
    if let Some(cost) = log.cost {
        span.double("portcullis.cost", cost);
    }
    span
}

/// A span with what only the collectors of its gateway get: what the caller says of the call, and the texts that its row has.
fn with_payloads(mut span: TraceSpan, call: &Finished) -> TraceSpan {
    let log = &call.log;
    if let Some(cost) = log.cost {
        span.double("gen_ai.usage.cost", cost);
    }
    span.text("gen_ai.model.provider", &log.provider);
    for (name, value) in &log.metadata {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        // Callers name them: the prefix keeps them apart from what the edge says.
        span.text(format!("portcullis.metadata.{name}"), &text);
    }
    span.long_text("gen_ai.prompt_json", log.request_head.as_deref().unwrap_or(""));
    span.long_text("gen_ai.completion_json", log.response_head.as_deref().unwrap_or(""));
    span
}
