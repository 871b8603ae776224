//! Builders for tests: the edge, an origin, a client. Port 0 everywhere; nothing sleeps for luck.

mod api;
mod attacks;
mod browser;
mod client;
mod edge;
mod http3;
mod judge;
mod mail;
mod mmdb;
mod origin;
mod pebble;

pub use api::Api;
pub use attacks::{Attack, labelled_attacks};
pub use browser::Browser;
pub use client::{Client, Response, curl, curl_output, http_get};
pub use edge::{BINARY, Edge, refused_by_check, run_cli, run_for_gateway};
pub use http3::{AnyCertificate, BareHttp3, Http3, frame, get, section};
pub use judge::{is_refused, judge};
pub use mail::MailServer;
pub use mmdb::{Data, mmdb, mmdb_of};
pub use origin::Origin;
pub use pebble::{Pebble, PebbleSettings, free_port};

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
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

/// A body in the content coding gzip.
pub fn gzip(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes.as_ref()).unwrap();
    encoder.finish().unwrap()
}

/// Writes `NAME.pem` and `NAME.key` for these host names.
pub fn certificate(folder: &Path, name: &str, hosts: &[&str]) {
    let hosts: Vec<_> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let made = rcgen::generate_simple_self_signed(hosts).unwrap();
    std::fs::write(folder.join(format!("{name}.pem")), made.cert.pem()).unwrap();
    std::fs::write(folder.join(format!("{name}.key")), made.signing_key.serialize_pem()).unwrap();
}

/// Whether the suite runs a test of this name, `module::name`.
pub fn runs(test: &str) -> bool {
    static TESTS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        let list = |more: &[&str]| {
            let listed = Command::new(std::env::current_exe().unwrap()).args(["--list"]).args(more).output();
            let text = String::from_utf8(listed.unwrap().stdout).unwrap();
            text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
        };
        let (all, ignored): (BTreeSet<String>, BTreeSet<String>) = (list(&[]), list(&["--ignored"]));
        &all - &ignored
    });
    TESTS.contains(test)
}
