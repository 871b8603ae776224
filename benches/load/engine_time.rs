//! Times the rule engine on requests in files, without a server: `engine_time LEVEL RULES.. -- FILE..`.
//!
//! Prints for each file its median in microseconds, and whether the rules refuse it.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up ends")]
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "it measures, and says what")]

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "its own requests come from files")]
mod support;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use portcullis::regression::RawRequest;
use seclang::BodyLimits;
use seclang::{Phase, RequestHead, Transaction};

/// Rounds for each file: so many, or what fits into this time.
const ROUNDS: usize = 301;
const TIME: Duration = Duration::from_secs(2);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let level = arguments.next().and_then(|text| text.parse().ok()).expect("a paranoia level");
    let paths: Vec<String> = arguments.by_ref().take_while(|argument| argument != "--").collect();
    let (rules, _) = portcullis::rules::load(Some(&paths), None).expect("the rules compile");
    let plan = support::plan(&rules.program, level);
    for file in arguments {
        let text = std::fs::read(&file).expect("the request is there");
        let request = RawRequest::split(&text).expect("the request is one");
        let (method, target, protocol) = request.parts().expect("the request line is one");
        let body = Bytes::copy_from_slice(request.body);
        let mut refused = false;
        let begun = Instant::now();
        let mut times: Vec<Duration> = (0..ROUNDS)
            .take_while(|round| *round < 3 || begun.elapsed() < TIME)
            .map(|_| {
                let started = Instant::now();
                let mut transaction = Transaction::new(Arc::clone(&plan), BodyLimits::default());
                transaction.request_head(&RequestHead {
                    method,
                    target,
                    protocol,
                    headers: &request.headers,
                    client: IpAddr::V4(Ipv4Addr::LOCALHOST),
                    server: None,
                    request_id: "0123456789abcdef-1",
                    received: Duration::ZERO,
                });
                let early = transaction.run(Phase::RequestHeaders);
                transaction.request_body(body.clone(), false);
                refused = early.or_else(|| transaction.run(Phase::RequestBody)).is_some();
                drop(transaction);
                started.elapsed()
            })
            .collect();
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        println!("{file} {:.2} {refused}", median.as_secs_f64() * 1e6);
    }
}
