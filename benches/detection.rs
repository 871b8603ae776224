//! The scanner over one megabyte of JSON.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up ends")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn bodies(c: &mut Criterion) {
    let (detector, diagnostics) = portcullis::rules::sensitive(None);
    diagnostics.into_result(()).expect("the rules in the binary are sound");
    let record = r#"{"order":"A-20931","customer":"Ann Brien","city":"Springfield","total":129.95,"when":"2026-11-21T06:31:29Z"},"#;
    let clean = record.repeat(1_000_000 / record.len());
    let digits = "4111 1111 1111 1112 ".repeat(50_000);
    let mut group = c.benchmark_group("detection");
    for (name, body) in [("clean_json", clean), ("hostile_digits", digits)] {
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(name, |b| b.iter(|| detector.scan(body.as_bytes(), &|_| true).len()));
    }
    group.finish();
}

criterion_group!(benches, bodies);
criterion_main!(benches);
