//! The scanner over bodies of one megabyte: clean ones as services send them, dense ones, and the worst that
//! somebody could think of. Beside it what a copy and one automaton of all literals cost.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up ends")]

#[path = "support/detection.rs"]
mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use support::{BODIES, Kind};

fn bodies(c: &mut Criterion) {
    let (detector, diagnostics) = portcullis::rules::sensitive(None);
    diagnostics.into_result(()).expect("the rules in the binary are sound");
    let mut group = c.benchmark_group("detection");
    group.sample_size(20);
    for (kind, name, body) in BODIES {
        let body = body();
        group.throughput(Throughput::Bytes(body.len() as u64));
        let word = match kind {
            Kind::Clean => "clean",
            Kind::Dense => "dense",
            Kind::Hostile => "hostile",
        };
        group.bench_function(format!("{word}/{name}"), |b| {
            b.iter(|| detector.scan(&body, &|_| true).detections.len())
        });
    }
    group.finish();
}

/// What a copy and one automaton of every literal take for the clean bodies.
fn yardsticks(c: &mut Criterion) {
    let (detector, _) = portcullis::rules::sensitive(None);
    let literals: Vec<&str> =
        detector.rules().iter().flat_map(portcullis::detection::Rule::literals).collect();
    let automaton = aho_corasick::AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(aho_corasick::AhoCorasickKind::DFA))
        .build(&literals)
        .expect("literals make an automaton");
    let mut group = c.benchmark_group("detection_yardsticks");
    group.sample_size(10);
    for (_, name, body) in BODIES.iter().filter(|(kind, ..)| matches!(kind, Kind::Clean)) {
        let body = body();
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(format!("copy/{name}"), |b| b.iter(|| body.clone().len()));
        group.bench_function(format!("aho_corasick_{}/{name}", literals.len()), |b| {
            b.iter(|| automaton.find_overlapping_iter(&body).count());
        });
    }
    group.finish();
}

/// Bodies of one's own: `DETECTION_BODIES=a.js:b.html cargo bench --bench detection`.
fn files(c: &mut Criterion) {
    let (detector, _) = portcullis::rules::sensitive(None);
    let mut group = c.benchmark_group("detection_files");
    group.sample_size(20);
    for file in std::env::var("DETECTION_BODIES").iter().flat_map(|files| files.split(':')) {
        let body = std::fs::read(file).expect("the file can be read");
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(file, |b| b.iter(|| detector.scan(&body, &|_| true).detections.len()));
    }
    group.finish();
}

/// How long the rules take from text to a detector.
fn load(c: &mut Criterion) {
    c.bench_function("detection_load", |b| b.iter(|| portcullis::rules::sensitive(None).0.rules().len()));
}

criterion_group!(benches, bodies, yardsticks, files, load);
criterion_main!(benches);
