//! What the engine allocates for a request like those before it: nothing, but for what rules remember
//! of clients from one request to the next.
//!
//! A program of its own, for the allocator counts what every thread of a program does.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[expect(dead_code, reason = "the benches use the rest")]
#[path = "../benches/support/mod.rs"]
mod support;

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Cases that must not allocate, by what they are read by.
const BENIGN: [&str; 5] = ["simple_get", "static_asset", "api_get", "simple_post", "form_8_fields"];

/// Rule sets with the most allocations they may make. Version 3.3.4 keeps records of clients in memory
/// that all threads share; what it reads of them is copied.
const ALLOWED: [(&str, usize); 3] = [("own", 0), ("crs-3.3.4", 200), ("crs-4.28.0", 0)];

#[test]
fn a_benign_request_allocates_nothing() {
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
