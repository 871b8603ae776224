//! Rules that people write: one expression, a look into a named list, and the walk past a thousand rules.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up ends")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use expression::{Expression, NamedSet, NamedSets};
use model::{ListKind, Phase};
use portcullis::ruleset::Decisions;

#[path = "support/custom_rules.rs"]
mod custom_rules;

const PHASE: Phase = Phase::HttpRequestFirewallCustom;

fn one_expression(c: &mut Criterion) {
    let expression = Expression::parse(custom_rules::TEN_TERMS, PHASE).expect("an expression");
    custom_rules::with_request("/p512/list", |facts| {
        assert!(expression.matches(facts), "every term is looked at");
        c.bench_function("custom_rules/ten_terms", |b| b.iter(|| black_box(&expression).matches(facts)));
    });
}

fn named_list(c: &mut Criterion) {
    let networks: Vec<String> =
        (0..100_000_u32).map(|nth| std::net::Ipv4Addr::from(0x1000_0000 + nth * 512).to_string()).collect();
    let hosts: Vec<String> = (0..100_000).map(|nth| format!("h{nth}.example")).collect();
    let mut sets = NamedSets::default();
    let named = |kind, items: &[String]| NamedSet::of(kind, items.iter().map(String::as_str));
    sets.insert("addresses".to_owned(), named(ListKind::Ip, &networks));
    sets.insert("hosts".to_owned(), named(ListKind::Hostname, &hosts));
    for (name, text) in [("addresses", "ip.src in $addresses"), ("hosts", "http.host in $hosts")] {
        let expression = Expression::parse_with(text, PHASE, &sets).expect("an expression");
        custom_rules::with_request("/", |facts| {
            c.bench_function(&format!("custom_rules/list_of_100000_{name}"), |b| {
                b.iter(|| black_box(&expression).matches(facts));
            });
        });
    }
}

fn thousand_rules(c: &mut Criterion) {
    let mut worst = "/".to_owned();
    worst.push_str(&"p1/p12/p123/".repeat(600));
    for (name, target) in [("one_matches", "/p512/list"), ("none_matches", "/"), ("path_of_7_kb", &worst)] {
        for (kind, entry_point) in [
            ("distinct", custom_rules::entry_point(custom_rules::distinct)),
            ("alike", custom_rules::entry_point(custom_rules::alike)),
        ] {
            custom_rules::with_request(target, |facts| {
                c.bench_function(&format!("custom_rules/1000_{kind}/{name}"), |b| {
                    b.iter(|| {
                        let mut decisions = Decisions::default();
                        black_box(&entry_point).walk(PHASE, facts, &mut decisions, |_, _, _| ())
                    });
                });
            });
        }
    }
}

criterion_group!(benches, one_expression, named_list, thousand_rules);
criterion_main!(benches);
