//! What breaks off: origins that die, stall or stop half-way, and clients that do. And WebSockets, which end only so.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use super::clients::{self, FRAMINGS, PATIENCE, Request};
use super::content::Kind;
use super::envelope::Envelope;
use super::features::Feature;
use super::origins::Answer;
use super::run;
use super::support::{Client, Edge, Origin, wait_for};

const LENGTHS: [usize; 2] = [3_000, 65_537];

/// How an origin fails, by the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    /// It closes without an answer.
    Dead,
    /// It never answers.
    Silent,
    /// It closes before its answer is whole.
    Cut,
}

const FAILURES: [Failure; 3] = [Failure::Dead, Failure::Silent, Failure::Cut];

/// How a client breaks off, half-way through its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakOff {
    Length,
    Chunked,
    Http2,
    Http3,
}

const BREAK_OFFS: [BreakOff; 4] = [BreakOff::Length, BreakOff::Chunked, BreakOff::Http2, BreakOff::Http3];

fn origin() -> Origin {
    Origin::start(|request, stream| {
        let path = request.path();
        if path.contains("Silent") {
            // Until the edge gives up.
            let _ = stream.read(&mut [0]);
            return false;
        }
        if request.header("upgrade").is_some_and(|value| value.eq_ignore_ascii_case("websocket")) {
            let head =
                "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n";
            let _ = stream.write_all(head.as_bytes());
            let mut bytes = [0; 1024];
            while let Ok(read @ 1..) = stream.read(&mut bytes) {
                let _ = stream.write_all(&bytes[..read]);
            }
            return false;
        }
        let text = match path {
            _ if path.contains("Dead") => return false,
            _ if path.contains("Cut") => "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nhalf",
            _ => "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
        };
        stream.write_all(text.as_bytes()).is_ok() && !path.contains("Cut")
    })
}

/// Runs all of it for one feature: how much ran, and what failed.
pub fn of_feature(feature: &Feature, nth: usize) -> (usize, Vec<String>) {
    let origin = origin();
    let edge = run::edge_with(feature, &origin, "[upstream]\nread_timeout = \"1s\"\n");
    let mut failures = Vec::new();
    let mut ran = 0;
    for (at, failure) in FAILURES.into_iter().enumerate() {
        // Two framings of each, others for the next feature.
        for framing in [nth + at, nth + at + 5].map(|at| FRAMINGS[at % FRAMINGS.len()]) {
            for length in LENGTHS {
                ran += 1;
                if let Err(problem) = failing_origin(feature, &edge, failure, framing, length) {
                    failures.push(format!("{}: {failure:?} {framing:?} {length}: {problem}", feature.name));
                }
            }
        }
    }
    for break_off in BREAK_OFFS {
        for length in LENGTHS {
            ran += 1;
            if let Err(problem) = broken_off_client(feature, &edge, &origin, break_off, length) {
                failures.push(format!("{}: {break_off:?} {length}: {problem}", feature.name));
            }
        }
    }
    if feature.envelope == Envelope::None && !feature.has_http2_origin {
        // As often as shows a race between the answer and the end of the request.
        for _ in 0..10 {
            ran += 1;
            if let Err(problem) = web_socket(feature, &edge, &origin) {
                failures.push(format!("{}: WebSocket: {problem}", feature.name));
            }
        }
    }
    edge.wait_for_metric("portcullis_held_bodies_bytes", 0.0);
    (ran, failures)
}

fn kind(feature: &Feature) -> Kind {
    if feature.is_gateway { Kind::Chat } else { Kind::Form }
}

/// A call whose path at the origin ends in a word.
fn call(feature: &Feature, length: usize, word: &str) -> (String, Vec<u8>) {
    let body = kind(feature).body(length).unwrap();
    let (target, sent) = feature.call(&body, Answer::Length);
    let replaced = String::from_utf8(sent).unwrap().replace("x/Length", &format!("x/{word}"));
    (target.replacen("Length", word, 1), replaced.into())
}

#[expect(clippy::disallowed_methods, reason = "a hang is a question of time")]
fn failing_origin(
    feature: &Feature,
    edge: &Edge,
    failure: Failure,
    framing: clients::Framing,
    length: usize,
) -> Result<(), String> {
    if feature.envelope.has_own_path() {
        return Ok(());
    }
    let (target, sent) = call(feature, length, &format!("{failure:?}"));
    let content_type = kind(feature).content_type();
    let request = Request { host: feature.host(), target: &target, content_type, coding: None, body: &sent };
    let begun = Instant::now();
    let answer = clients::send(framing, edge.proxy[0], edge.proxy[1], request);
    if begun.elapsed() + Duration::from_millis(500) > PATIENCE {
        return Err("nothing came in time".to_owned());
    }
    match (failure, answer) {
        (Failure::Cut, None) => Ok(()),
        // A feature that holds an answer whole before it goes on notices that it is cut.
        (_, Some((response, _))) if matches!(response.status, 502 | 504) => Ok(()),
        (_, answer) => Err(format!("{:?}", answer.map(|(response, _)| response.status))),
    }
}

fn broken_off_client(
    feature: &Feature,
    edge: &Edge,
    origin: &Origin,
    break_off: BreakOff,
    length: usize,
) -> Result<(), String> {
    origin.forget();
    let requests = || edge.events().iter().filter(|event| event["event"] == "request").count();
    let before = requests();
    let (target, sent) = call(feature, length, "Broken");
    let content_type = kind(feature).content_type();
    let request = Request { host: feature.host(), target: &target, content_type, coding: None, body: &sent };
    clients::break_off(break_off, edge.proxy[0], edge.proxy[1], request);
    wait_for("the request to end", || (requests() > before).then_some(()));
    if feature.must_see && !origin.begun().is_empty() {
        return Err("the origin heard of a request that never was whole".to_owned());
    }
    if !origin.requests().is_empty() {
        return Err("the origin got it as if it were whole".to_owned());
    }
    let (target, sent) = call(feature, length, "Good");
    let request = Request { host: feature.host(), target: &target, content_type, coding: None, body: &sent };
    let next = clients::send(clients::Framing::Length, edge.proxy[0], edge.proxy[1], request);
    match next.map(|(response, _)| response.status) {
        Some(200) => Ok(()),
        other => Err(format!("the next request is answered by {other:?}")),
    }
}

/// Bytes pass both ways, or nothing reaches the origin; an attack in the head is refused either way.
fn web_socket(feature: &Feature, edge: &Edge, origin: &Origin) -> Result<(), String> {
    let upgrade = |target: &str| {
        origin.forget();
        let mut client = Client::connect(edge.proxy[0]);
        client.send(format!(
            "GET {target} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            feature.host()
        ));
        let head = client.head();
        (head.map_or(0, |head| head.status), client)
    };
    let (status, mut client) = upgrade(&format!("{}socket", feature.target));
    match status {
        101 => {
            // A masked frame of text, "hello".
            let frame = [0x81, 0x85, 1, 2, 3, 4, b'h' ^ 1, b'e' ^ 2, b'l' ^ 3, b'l' ^ 4, b'o' ^ 1];
            client.send(frame);
            let mut echo = [0; 11];
            client.reader.read_exact(&mut echo).map_err(|error| format!("no echo: {error}"))?;
            if echo != frame {
                return Err(format!("other bytes: {echo:?}"));
            }
        }
        400..500 if feature.is_gateway && feature.must_see && origin.begun().is_empty() => {}
        _ => return Err(format!("{status}, {:?}", origin.begun())),
    }
    if feature.refuses == 403 && !feature.is_gateway {
        let (status, _) = upgrade("/?id=1'%20UNION%20SELECT%20password%20FROM%20users--");
        if status != 403 || !origin.begun().is_empty() {
            return Err(format!("an attack is answered by {status}"));
        }
    }
    Ok(())
}
