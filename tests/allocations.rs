//! What the engine allocates for a request like those before it: nothing, but for what rules remember
//! of clients from one request to the next. And that benches of the engine run what zones run.
//!
//! A program of its own, for the allocator counts what every thread of a program does.

use std::alloc::System;
use std::sync::Mutex;

use expression::Expression;
use model::Phase;
use portcullis::ruleset::{Decisions, ScoredRuleset};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[expect(dead_code, reason = "the benches use the rest")]
#[path = "../benches/support/mod.rs"]
mod support;

#[expect(
    dead_code,
    clippy::expect_used,
    reason = "the benches use the rest; what cannot be set up ends the test"
)]
#[path = "../benches/support/custom_rules.rs"]
mod custom_rules;

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Tests run one after the other: the allocator counts for all threads.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Cases that must not allocate, by what they are read by.
const BENIGN: [&str; 5] = ["simple_get", "static_asset", "api_get", "simple_post", "form_8_fields"];

/// Rule sets with the most allocations they may make. Version 3.3.4 keeps records of clients in memory
/// that all threads share; what it reads of them is copied.
const ALLOWED: [(&str, usize); 3] = [("own", 0), ("crs-3.3.4", 200), ("crs-4.28.0", 0)];

#[test]
fn a_benign_request_allocates_nothing() {
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let mut checked = 0;
    for (set, most) in ALLOWED {
        let Some(rules) = support::rule_set(set) else { continue };
        let plan = support::plan(&rules, 1);
        for case in support::requests().iter().filter(|case| BENIGN.contains(&case.name)) {
            // The first ones make the memory that the others use, and fill the caches of patterns.
            (0..20).for_each(|_| {
                assert_eq!(case.run(&plan), None, "{set} {}", case.name);
            });
            let region = Region::new(GLOBAL);
            case.run(&plan);
            let change = region.change();
            let count = change.allocations + change.reallocations;
            assert!(count <= most, "{set} {}: {change:?}", case.name);
            checked += 1;
        }
    }
    assert!(checked >= BENIGN.len());
}

#[test]
fn benches_run_the_rules_that_zones_run() {
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let (rules, _) = portcullis::rules::load(None, None).unwrap_or_else(|found| panic!("{found}"));
    for level in 1..=4 {
        let of_zone = ScoredRuleset::short_form(&rules.program, &rules.owasp, level, 5).plan;
        let of_bench = support::plan(&rules.program, level);
        assert!(of_bench.rules() > 100, "{level}: {}", of_bench.rules());
        assert_eq!(format!("{of_bench:?}"), format!("{of_zone:?}"), "level {level}");
    }
}

#[test]
fn a_walk_past_a_thousand_custom_rules_allocates_nothing() {
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let phase = Phase::HttpRequestFirewallCustom;
    let before = Region::new(GLOBAL);
    let entry_point = custom_rules::entry_point(custom_rules::distinct);
    let kept = before.change();
    let kept_bytes = kept.bytes_allocated - kept.bytes_deallocated;
    assert!(kept_bytes < 1_500_000, "a thousand rules take {kept_bytes} bytes");
    let ten_terms = Expression::parse(custom_rules::TEN_TERMS, phase).unwrap();
    // The scratch memory of the automaton is made once.
    let paths = ["/p1/", "/p999/list", "/", "/p5000/x?q=a&b=c"];
    for warm in [true, false] {
        for path in paths {
            custom_rules::with_request(path, |facts| {
                let mut decisions = Decisions::default();
                decisions.told.reserve(4);
                let region = Region::new(GLOBAL);
                let ending = entry_point.walk(phase, facts, &mut decisions, |_, _, _| ());
                let change = region.change();
                let is_told = path.contains("/p1/") || path.contains("/p999");
                assert!(ending.is_none() && decisions.told.len() == usize::from(is_told));
                let count = change.allocations + change.reallocations;
                assert!(warm || count == 0, "{path}: {change:?}");
                let region = Region::new(GLOBAL);
                assert_eq!(ten_terms.matches(facts), path.starts_with("/p"));
                // A copy of the user agent, in lower case.
                assert!(region.change().allocations <= 1, "{path}: {:?}", region.change());
            });
        }
    }
}

/// A call of the API that uses nothing that ends.
#[test]
fn the_calendar_of_what_ends_allocates_nothing() {
    use deprecations::{OperationName, Precedence, SHIPPED};
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let today = model::CalendarDate::of_unix(1_795_000_000);
    let precedence = Precedence { request: None, settings: [None; 3], today };
    let ask = |path| {
        SHIPPED
            .about(OperationName { method: "GET", path })
            .filter(|row| precedence.mode(row).is_served())
            .count()
    };
    assert_eq!(ask("/zones/{zone_id}/dns_records"), 0);
    let region = Region::new(GLOBAL);
    for path in ["/zones/{zone_id}", "/zones/{zone_id}/dns_records"] {
        ask(path);
    }
    let change = region.change();
    assert_eq!(change.allocations + change.reallocations, 0, "{change:?}");
}
