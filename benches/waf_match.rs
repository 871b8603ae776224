//! The rule engine over whole requests: wall time.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up ends")]

mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use seclang::optimize;

fn requests(c: &mut Criterion) {
    let sets = support::RULE_SETS.iter().filter_map(|name| Some((name, support::rule_set(name)?)));
    for (set, rules) in sets {
        for level in [1, 4] {
            let plan = support::plan(&rules, level);
            for case in support::requests() {
                let name = format!("waf_match/{set}/pl{level}/{}", case.name);
                c.bench_function(&name, |bencher| bencher.iter(|| case.run(&plan)));
            }
        }
        let plan = support::plan(&rules, 1);
        for case in support::bodies() {
            let mut group = c.benchmark_group(format!("waf_match/{set}/pl1"));
            group.throughput(Throughput::Bytes(case.body.len() as u64));
            group.bench_function(case.name, |bencher| bencher.iter(|| case.run(&plan)));
        }
        let ir = support::lowered(set).expect("the rule set is there");
        c.bench_function(&format!("waf_compile/{set}"), |b| b.iter(|| optimize(&ir)));
    }
}

criterion_group!(benches, requests);
criterion_main!(benches);
