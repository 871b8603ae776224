//! Builders for tests: the edge, an origin, a client. Port 0 everywhere; nothing sleeps for luck.

mod client;
mod edge;
mod origin;

pub use client::{Client, Response, curl, curl_output, http_get};
pub use edge::{BINARY, Edge, refused_by_check, run_cli};
pub use origin::Origin;

use std::time::{Duration, Instant};

/// Longest wait for anything. Reached only where something is broken.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `probe` has an answer.
#[expect(clippy::disallowed_methods, reason = "tests wait in real time")]
pub fn wait_for<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
