//! Requests that rules judge without a server.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use expression::Facts;
use portcullis::ruleset::{EntryPoint, Outcome, Verdict};
use seclang::BodyLimits;
use seclang::RequestHead;

/// The verdict on a browser's request: a GET, or with a body a POST, if no method is named.
pub fn judge(
    entry_point: &EntryPoint,
    method: Option<&str>,
    target: &str,
    fields: &[(&str, &[u8])],
    body: impl Into<Bytes>,
) -> Verdict {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    // Sampling draws from it.
    let request_id = format!("test-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let body = body.into();
    let length = body.len().to_string();
    let mut headers: Vec<(&[u8], &[u8])> = vec![
        (b"Host", b"app.example"),
        (b"User-Agent", b"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
        (b"Accept", b"*/*"),
    ];
    if !body.is_empty() {
        headers.push((b"Content-Length", length.as_bytes()));
    }
    headers.extend(fields.iter().map(|(name, value)| (name.as_bytes(), *value)));
    let head = RequestHead {
        method: method.unwrap_or(if body.is_empty() { "GET" } else { "POST" }).as_bytes(),
        target: target.as_bytes(),
        protocol: "HTTP/1.1",
        headers: &headers,
        client: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
        server: None,
        request_id: &request_id,
        received: std::time::Duration::from_secs(1_750_000_000),
    };
    let mut run = entry_point.start(&Facts::of_request(&head), BodyLimits::default(), &mut ());
    run.body(&body, false, &mut ());
    run.verdict()
}

pub fn is_refused(verdict: &Verdict) -> bool {
    matches!(verdict.outcome, Outcome::Blocked { .. })
}
