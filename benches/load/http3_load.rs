//! An HTTP/3 load generator. It opens several connections and sends concurrent requests on each of them for a number of
//! seconds.
//!
//! ```text
//! http3_load ADDRESS NAME PATH CERTIFICATE.PEM CONNECTIONS STREAMS SECONDS [REQUESTS_PER_SECOND]
//! ```
//! Prints how many answers came whole with 200, how many did not, the bytes of their bodies and the 50th and 99th percentile of their
//! times in milliseconds.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench that cannot go on ends")]

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use h3::client::SendRequest;
use h3_quinn::OpenStreams;
use quinn::Endpoint;
use quinn::crypto::rustls::QuicClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::Instant;

const PATIENCE: Duration = Duration::from_secs(8);

#[derive(Default)]
struct Seen {
    good: u64,
    bad: u64,
    bytes: u64,
    times: Vec<Duration>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, name, path, certificate, connections, streams, seconds, rest @ ..] = arguments.as_slice()
    else {
        return println!(
            "usage: http3_load ADDRESS NAME PATH CERTIFICATE CONNECTIONS STREAMS SECONDS [REQUESTS_PER_SECOND]"
        );
    };
    let (connections, streams): (u32, u32) = (connections.parse().unwrap(), streams.parse().unwrap());
    let length = Duration::from_secs(seconds.parse().unwrap());
    let pace =
        rest.first().map(|rate| Duration::from_secs(1) * connections * streams / rate.parse().unwrap());
    let head = http::Request::get(format!("https://{name}{path}"))
        .header("user-agent", "http3_load")
        .header("accept", "*/*")
        .body(())
        .unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let seen = runtime.block_on(async {
        let mut endpoint = Endpoint::client(([127, 0, 0, 1], 0).into()).unwrap();
        endpoint.set_default_client_config(client(certificate));
        let until = Instant::now() + length;
        let mut tasks = Vec::new();
        for _ in 0..connections {
            let quic = endpoint.connect(address.parse().unwrap(), name).unwrap().await.unwrap();
            let (mut driver, requests) = h3::client::new(h3_quinn::Connection::new(quic)).await.unwrap();
            tokio::spawn(async move { std::future::poll_fn(|cx| driver.poll_close(cx)).await });
            tasks
                .extend((0..streams).map(|_| tokio::spawn(ask(requests.clone(), head.clone(), until, pace))));
        }
        let mut seen = Seen::default();
        for task in tasks {
            let more = task.await.unwrap();
            seen.good += more.good;
            seen.bad += more.bad;
            seen.bytes += more.bytes;
            seen.times.extend(more.times);
        }
        seen
    });
    print(seen, length);
}

fn client(certificate: &str) -> quinn::ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()))
}

/// One request after the other until the end.
async fn ask(
    mut requests: SendRequest<OpenStreams, Bytes>,
    head: http::Request<()>,
    until: Instant,
    pace: Option<Duration>,
) -> Seen {
    let mut seen = Seen::default();
    let mut next = Instant::now();
    while Instant::now() < until {
        let asked = Instant::now();
        match tokio::time::timeout(PATIENCE, answer(&mut requests, head.clone())).await.ok().flatten() {
            Some(bytes) => {
                seen.good += 1;
                seen.bytes += bytes;
                seen.times.push(asked.elapsed());
            }
            None => seen.bad += 1,
        }
        if let Some(pace) = pace {
            next = (next + pace).max(Instant::now());
            tokio::time::sleep_until(next.min(until)).await;
        }
    }
    seen
}

/// The length of a whole answer with 200.
async fn answer(requests: &mut SendRequest<OpenStreams, Bytes>, head: http::Request<()>) -> Option<u64> {
    let mut stream = requests.send_request(head).await.ok()?;
    stream.finish().await.ok()?;
    let status = stream.recv_response().await.ok()?.status();
    let mut bytes = 0;
    while let Some(piece) = stream.recv_data().await.ok()? {
        bytes += piece.remaining() as u64;
    }
    (status == 200).then_some(bytes)
}

fn print(mut seen: Seen, length: Duration) {
    seen.times.sort_unstable();
    let at = |share: usize| {
        seen.times.get(seen.times.len() * share / 100).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    };
    println!(
        "{} good answers, {} others, {:.0} req/s, {} bytes, p50 {:.2} ms, p99 {:.2} ms",
        seen.good,
        seen.bad,
        seen.good as f64 / length.as_secs_f64(),
        seen.bytes,
        at(50),
        at(99)
    );
}
