//! The scanner over bodies of one megabyte: clean ones as services send them, dense ones, and the worst that
//! somebody could think of. Beside it what a copy and one automaton of all literals and one set of all patterns cost.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up ends")]

#[path = "support/detection.rs"]
mod support;

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use regex_automata::{Input, MatchKind, PatternSet, meta};
use support::{BODIES, Kind};

/// What the set of all patterns gets of a body.
const PART_BYTES: usize = 20_000;

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

/// What a copy, one automaton of every literal and one set of every pattern take for the clean bodies.
fn yardsticks(c: &mut Criterion) {
    let (detector, _) = portcullis::rules::sensitive(None);
    let literals: Vec<&str> = detector.rules().iter().flat_map(detection::Rule::literals).collect();
    let automaton = aho_corasick::AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(aho_corasick::AhoCorasickKind::DFA))
        .build(&literals)
        .expect("literals make an automaton");
    let patterns: Vec<&str> = detector.rules().iter().filter_map(detection::Rule::pattern).collect();
    let config = meta::Config::new().match_kind(MatchKind::All).utf8_empty(false).nfa_size_limit(None);
    let set = meta::Builder::new()
        .configure(config)
        .syntax(regex_automata::util::syntax::Config::new().unicode(false).utf8(false))
        .build_many(&patterns)
        .expect("patterns make a set");
    let mut group = c.benchmark_group("detection_yardsticks");
    group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    for (_, name, body) in BODIES.iter().filter(|(kind, ..)| matches!(kind, Kind::Clean)) {
        let body = body();
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(format!("copy/{name}"), |b| b.iter(|| body.clone().len()));
        group.bench_function(format!("aho_corasick_{}/{name}", literals.len()), |b| {
            b.iter(|| automaton.find_overlapping_iter(&body).count());
        });
        // It takes seconds for a whole body.
        let part = body.get(..PART_BYTES).expect("bodies are longer");
        group.throughput(Throughput::Bytes(part.len() as u64));
        group.bench_function(format!("regex_set_{}/{name}", patterns.len()), |b| {
            b.iter(|| {
                let mut found = PatternSet::new(patterns.len());
                set.which_overlapping_matches(&Input::new(part), &mut found);
                found.len()
            });
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
