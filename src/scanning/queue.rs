//! Copies of responses on their way to the scanner.
//!
//! A copy is a list of handles: no byte is copied and none is delayed. All copies together are
//! bounded in bytes; a response that does not fit is let go whole and counted.

use std::hash::BuildHasher;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use zeroize::Zeroizing;

use super::report::{Subject, report_exhausted, report_found};
use super::seen::Seen;
use crate::clock::Clock;
use crate::conf::units::Percent;
use crate::events::Events;
use crate::events::kinds::{ScanSkipped, SensitiveDataRepeated, ServiceFailed, SkipReason};
use body::decompress::{self, Coding};
use detection::mac::Mac;
use detection::{ScanPlan, charset};

/// Limits of one scan.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a body that are scanned, after decoding.
    pub scanned_bytes: usize,
    pub decompression: decompress::Limits,
}

/// How far the scanner threads stand back behind those that serve (nice(2)).
const NICENESS: i32 = 15;

/// Paths whose responses are counted apart for sampling; others share a count.
const COUNTED_PATHS: usize = 4_096;

/// The threads that scan, and what they may take.
#[derive(Clone, Copy, Debug)]
pub struct Scanners {
    pub threads: usize,
    /// How much of the time each may work.
    pub cpu: Percent,
    /// All copies that wait.
    pub max_bytes: usize,
}

/// The way to the scanner threads; clones share one queue.
#[derive(Clone, Debug)]
pub struct ScanQueue {
    jobs: Sender<Job>,
    held: Arc<AtomicUsize>,
    max_bytes: usize,
    /// How many responses there were, by the hash of their path.
    responses: Arc<[AtomicU32]>,
    events: Events,
}

struct Job {
    plan: ScanPlan,
    limits: Limits,
    coding: Coding,
    content_type: Box<[u8]>,
    subject: Subject,
    body: HeldBody,
}

/// Chunks and their share of the queue's bytes, given back when dropped.
struct HeldBody {
    chunks: Vec<Bytes>,
    size: usize,
    cut: bool,
    held: Arc<AtomicUsize>,
}

impl Drop for HeldBody {
    fn drop(&mut self) {
        self.held.fetch_sub(self.size, Ordering::Relaxed);
    }
}

impl ScanQueue {
    /// Starts the scanner threads; they end when the last clone is gone.
    pub fn start(scanners: Scanners, mac: Mac, events: Events, clock: Clock) -> Self {
        let Scanners { threads, cpu, max_bytes } = scanners;
        let (jobs, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let seen = Arc::new(Seen::new(mac));
        for _ in 0..threads {
            let (waiting, events, seen) = (Arc::clone(&waiting), events.clone(), Arc::clone(&seen));
            let failed = events.clone();
            let scanner = std::thread::Builder::new().name("scan".to_owned());
            let work = move || work(&waiting, cpu, |job| scan(job, &seen, clock.unix(), &events));
            if let Err(error) = scanner.spawn(work) {
                failed.emit(&ServiceFailed {
                    service: "scan",
                    error: format!("cannot start a thread: {error}"),
                });
            }
        }
        let responses = (0..COUNTED_PATHS).map(|_| AtomicU32::new(0)).collect();
        Self { jobs, held: Arc::new(AtomicUsize::new(0)), max_bytes, responses, events }
    }

    /// Begins to copy a response; `None` if its kind is not scanned.
    pub fn tee(
        &self,
        plan: &ScanPlan,
        limits: Limits,
        content_type: &[u8],
        content_encoding: &[u8],
        subject: Subject,
    ) -> Option<Tee> {
        let skip = |reason| {
            self.events.emit(&ScanSkipped { reason });
            None
        };
        if !is_text(content_type) {
            return skip(SkipReason::ContentType);
        }
        let Some(coding) = Coding::of(content_encoding) else { return skip(SkipReason::ContentCoding) };
        if !self.is_sampled(&subject, plan.settings.sample_every) {
            return skip(SkipReason::Sampled);
        }
        let body = HeldBody { chunks: Vec::new(), size: 0, cut: false, held: Arc::clone(&self.held) };
        let job =
            Job { plan: plan.clone(), limits, coding, content_type: content_type.into(), subject, body };
        Some(Tee { job: Some(job), queue: self.clone() })
    }

    /// The first response of each path, and every nth after it.
    fn is_sampled(&self, subject: &Subject, every: NonZeroU32) -> bool {
        if every.get() == 1 {
            return true;
        }
        let path = (&subject.zone_id, &subject.host, &subject.path);
        let hash = foldhash::fast::FixedState::default().hash_one(path);
        let count = usize::try_from(hash % COUNTED_PATHS as u64).ok().and_then(|at| self.responses.get(at));
        count.is_none_or(|count| count.fetch_add(1, Ordering::Relaxed) % every == 0)
    }
}

/// The copy of one response in the making.
#[derive(Debug)]
pub struct Tee {
    job: Option<Job>,
    queue: ScanQueue,
}

impl Tee {
    /// Adds a chunk; nothing is copied but the handle.
    pub fn push(&mut self, chunk: &Bytes) {
        let Some(job) = self.job.as_mut() else { return };
        // A coded body may be a little larger than what comes out; it never is by much.
        let room = job.limits.scanned_bytes.saturating_sub(job.body.size);
        if room == 0 {
            job.body.cut |= !chunk.is_empty();
            return;
        }
        let kept = chunk.slice(..room.min(chunk.len()));
        job.body.cut |= kept.len() < chunk.len();
        if self.queue.held.fetch_add(kept.len(), Ordering::Relaxed) + kept.len() > self.queue.max_bytes {
            self.queue.held.fetch_sub(kept.len(), Ordering::Relaxed);
            self.job = None;
            self.queue.events.emit(&ScanSkipped { reason: SkipReason::QueueFull });
            return;
        }
        job.body.size += kept.len();
        job.body.chunks.push(kept);
    }

    /// Hands the copy over. An aborted response is scanned as far as it came.
    pub fn finish(mut self) {
        if let Some(job) = self.job.take().filter(|job| job.body.size > 0) {
            // Only fails if the scanner threads are gone, at the end of the process.
            let _ = self.queue.jobs.send(job);
        }
    }
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Job of {} bytes", self.body.size)
    }
}

/// Text, HTML, JSON or XML by content type, streams of them too.
fn is_text(content_type: &[u8]) -> bool {
    let media = body::media_type(content_type).to_ascii_lowercase();
    let known: &[&[u8]] = &[
        b"application/javascript",
        b"application/json",
        b"application/json-seq",
        b"application/jsonl",
        b"application/jsonlines",
        b"application/ndjson",
        b"application/x-javascript",
        b"application/x-json",
        b"application/x-jsonlines",
        b"application/x-ndjson",
        b"application/x-xml",
        b"application/xml",
        b"application/xml-dtd",
        b"application/xml-external-parsed-entity",
    ];
    media.starts_with(b"text/")
        || known.contains(&media.as_slice())
        || media.ends_with(b"+json")
        || media.ends_with(b"+xml")
}

/// The time that this thread has worked. Time in which others had the processor does not count: a thread that gave way
/// would rest for it once more.
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn work(waiting: &Mutex<Receiver<Job>>, cpu: Percent, scan: impl Fn(&Job)) {
    // If this cannot be had, scans take their turn like everything else. On Linux it is the thread that
    // gives way, not the process.
    if cfg!(target_os = "linux") {
        let _ = rustix::process::nice(NICENESS);
    }
    loop {
        let job = waiting.lock().recv();
        let Ok(job) = job else { return };
        let begun = thread_time();
        scan(&job);
        drop(job);
        // A thread that has just begun to run is not interrupted for some milliseconds, however nice it is.
        std::thread::yield_now();
        let idle = u32::from(100 - cpu.get());
        if idle > 0 {
            std::thread::sleep(thread_time().saturating_sub(begun) * idle / u32::from(cpu.get()));
        }
    }
}

fn scan(job: &Job, seen: &Seen, now: Duration, events: &Events) {
    // Copies of our own are wiped when they go: what was found in them is to be in no core dump.
    let (joined, decoded): (Zeroizing<Vec<u8>>, Zeroizing<Vec<u8>>);
    let raw: &[u8] = match job.body.chunks.as_slice() {
        [only] => only,
        chunks => {
            joined = Zeroizing::new(chunks.concat());
            &joined
        }
    };
    let mut truncated = job.body.cut;
    let body: &[u8] = if job.coding == Coding::Identity {
        raw
    } else {
        let output_bytes = job.limits.decompression.output_bytes.min(job.limits.scanned_bytes);
        let limits = decompress::Limits { output_bytes, ..job.limits.decompression };
        let output = decompress::decode(job.coding, raw, limits);
        truncated |= output.end != decompress::End::Complete;
        if output.end == decompress::End::Bomb {
            events.emit(&ScanSkipped { reason: SkipReason::DecompressionBomb });
        }
        decoded = Zeroizing::new(output.bytes);
        &decoded
    };
    if truncated {
        events.emit(&ScanSkipped { reason: SkipReason::Truncated });
    }
    let clean = seen.digest(&job.plan, body);
    let leaking = seen.at_path(&clean, &job.subject);
    let repeated = |rule: &str, count| {
        let (Subject { ray, path, .. }, zone) = (&job.subject, job.subject.label());
        events.emit(&SensitiveDataRepeated { ray, rule, count, path, zone });
    };
    if let Some(scanned) = seen.scanned(&clean).or_else(|| seen.scanned_lately(&leaking, now)) {
        scanned.found.iter().for_each(|(rule, count)| repeated(rule, *count));
        events.emit(&ScanSkipped { reason: SkipReason::Identical });
        return;
    }
    let metrics = events.metrics();
    metrics.scan_bytes.inc_by(body.len() as u64);
    metrics.scans.inc();
    let transcoded = charset::utf8(body, &job.content_type);
    let text = transcoded.as_ref().map_or(body, |text| text.as_slice());
    let pause = std::thread::yield_now;
    let findings = job.plan.scan_in_turns(text, &job.subject.ray, Some(seen.mac()), &pause);
    let digest = if findings.found.is_empty() { clean } else { leaking };
    seen.remember(digest, &findings.found, now);
    report_exhausted(&findings, events);
    for found in &findings.found {
        match seen.telling(found, &job.subject, now) {
            Some(telling) => report_found(found, Some(telling), &job.subject, "log", truncated, events),
            None => repeated(&found.rule.id, found.count),
        }
    }
}
