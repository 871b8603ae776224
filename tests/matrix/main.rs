//! The matrix: every feature with every body, framing, client and origin. What a request means does not depend
//! on how it is sent.
//!
//! Of each case it is asserted that the verdict is the one of the same request sent the simplest way; that what
//! is refused never reaches the origin, not even its head; that bytes are equal both ways; that the status on the
//! wire is the one of the event; that the next request of the connection is answered; and that nothing hangs.
//! `make test` runs a fixed sample, `make matrix` all of it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that cannot go on fails, and says how much it ran"
)]

#[path = "../support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the suite uses what the matrix does not")]
mod support;

mod breaks;
mod clients;
mod content;
mod envelope;
mod features;
mod gateways;
mod http2_origin;
mod hunt;
mod origins;
mod run;
mod split;
mod streams;

/// Of so many cases one is run, but in `make matrix`.
const SAMPLE: usize = 7;

#[test]
fn zones() {
    run::all(features::ZONES);
}

#[test]
fn gateways() {
    run::all(gateways::GATEWAYS);
}

#[test]
fn what_breaks_off() {
    run::each(&[features::ZONES, gateways::GATEWAYS].concat(), breaks::of_feature);
}
