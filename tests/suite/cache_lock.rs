//! Requests at once for a response that is not kept yet, or not any more: who waits for whom, and for how long.

use std::io::Write;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::json;

use crate::api::TOKEN;
use crate::cache::{KEPT, conf, get, send};
use crate::support::{Api, Client, Edge, Origin, wait_for};

/// Holds one of an origin's answers back until it is opened.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let closed = self.0.0.lock().unwrap();
        let passed = self.0.1.wait_timeout_while(closed, Duration::from_secs(20), |open| !*open).unwrap();
        assert!(!passed.1.timed_out(), "nobody opened the gate");
    }
}

/// An origin that holds its answers with these numbers back.
fn holding(held: Range<usize>, fields: &'static str) -> (Origin, Gate) {
    let (count, gate) = (AtomicUsize::new(0), Gate::default());
    let theirs = gate.clone();
    let origin = Origin::start(move |request, stream| {
        let nth = count.fetch_add(1, Ordering::SeqCst);
        if held.contains(&nth) {
            theirs.pass();
        }
        let fields = if request.path() == "/nothing" { "" } else { fields };
        let body = if request.line.starts_with("HEAD") { String::new() } else { nth.to_string() };
        let length = nth.to_string().len();
        let answer = format!("HTTP/1.1 200 OK\r\n{fields}content-length: {length}\r\n\r\n{body}");
        stream.write_all(answer.as_bytes()).is_ok()
    });
    (origin, gate)
}

fn edge(origin: &Origin, patience: &str) -> Edge {
    let limits = format!("[limits]\ncache_lock_timeout = \"{patience}\"\n");
    let admin = format!("[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n");
    Edge::start(&format!("{limits}{admin}{}", conf(origin, "[zones.waf]\n[zones.cache]\n")))
}

/// A request that is answered while others are made: the word of its answer, and its body.
fn begin(address: SocketAddr, target: &str) -> JoinHandle<(String, String)> {
    let target = target.to_owned();
    std::thread::spawn(move || {
        let mut client = Client::connect(address);
        client.reader.get_ref().set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        client.send(format!("GET {target} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"));
        let answer = client.receive().expect("a whole answer");
        (answer.header("svc-cache-status").unwrap_or("").to_owned(), answer.text())
    })
}

fn connections(edge: &Edge, expected: f64) {
    wait_for("the connections", || (edge.metric("portcullis_connections") == expected).then_some(()));
}

fn asked(origin: &Origin, expected: usize) {
    wait_for("requests at the origin", || (origin.begun().len() == expected).then_some(()));
}

fn words(answers: Vec<JoinHandle<(String, String)>>) -> Vec<String> {
    let mut words: Vec<String> = answers.into_iter().map(|answer| answer.join().unwrap().0).collect();
    words.sort();
    words
}

#[test]
fn requests_at_once_are_one_for_the_origin() {
    let (origin, gate) = holding(0..1, KEPT);
    let with_lock = edge(&origin, "20s");
    let answers: Vec<_> = (0..8).map(|_| begin(with_lock.proxy[0], "/page")).collect();
    connections(&with_lock, 8.0);
    asked(&origin, 1);
    // Whoever is refused does not wait, and neither does who wants another page or only a part.
    assert_eq!(send(&with_lock, "GET", "/page?q=<script>alert(1)</script>", "").1.status, 403);
    assert_eq!(get(&with_lock, "/other", ""), ("MISS".into(), "1".into()));
    assert_eq!(get(&with_lock, "/page", "Range: bytes=0-0\r\n").0, "BYPASS");
    assert_eq!(send(&with_lock, "HEAD", "/page", "").0, "BYPASS");
    gate.open();
    assert_eq!(words(answers), ["HIT", "HIT", "HIT", "HIT", "HIT", "HIT", "HIT", "MISS"]);
    assert_eq!(origin.begun().len(), 4);
    // Without it all of them reach the origin.
    let (origin, gate) = holding(0..8, KEPT);
    let without = edge(&origin, "0s");
    let answers: Vec<_> = (0..8).map(|_| begin(without.proxy[0], "/page")).collect();
    asked(&origin, 8);
    gate.open();
    assert_eq!(words(answers), ["MISS"; 8]);
}

#[test]
fn who_has_waited_long_enough_reaches_the_origin() {
    let (origin, gate) = holding(0..1, KEPT);
    let edge = edge(&origin, "200ms");
    let first = begin(edge.proxy[0], "/page");
    asked(&origin, 1);
    assert_eq!(get(&edge, "/page", ""), ("MISS".into(), "1".into()));
    gate.open();
    assert_eq!(first.join().unwrap(), ("MISS".into(), "0".into()));
    assert_eq!(get(&edge, "/page", ""), ("HIT".into(), "0".into()));
}

#[test]
fn nobody_has_the_turn_for_long() {
    let (origin, gate) = holding(0..1, KEPT);
    let edge = edge(&origin, "20s");
    let first = begin(edge.proxy[0], "/page");
    asked(&origin, 1);
    let others: Vec<_> = (0..3).map(|_| begin(edge.proxy[0], "/page")).collect();
    // One of them takes the turn, and the rest get what it has.
    assert_eq!(words(others), ["HIT", "HIT", "MISS"]);
    assert_eq!(origin.begun().len(), 2);
    gate.open();
    assert_eq!(first.join().unwrap(), ("MISS".into(), "0".into()));
    assert_eq!(get(&edge, "/page", "").0, "HIT");
}

#[test]
fn what_is_not_kept_is_waited_for_by_nobody_for_long() {
    let (origin, gate) = holding(0..1, KEPT);
    let edge = edge(&origin, "20s");
    let answers: Vec<_> = (0..4).map(|_| begin(edge.proxy[0], "/nothing")).collect();
    connections(&edge, 4.0);
    asked(&origin, 1);
    gate.open();
    assert_eq!(words(answers), ["DYNAMIC"; 4]);
    assert_eq!(origin.begun().len(), 4);
}

#[test]
fn a_client_that_goes_away_leaves_its_turn_to_another() {
    let (origin, gate) = holding(0..1, KEPT);
    let edge = edge(&origin, "20s");
    let mut gone = Client::connect(edge.proxy[0]);
    gone.send("GET /page HTTP/1.1\r\nHost: a.example\r\n\r\n");
    asked(&origin, 1);
    let second = begin(edge.proxy[0], "/page");
    connections(&edge, 2.0);
    drop(gone);
    assert_eq!(second.join().unwrap(), ("MISS".into(), "1".into()));
    assert_eq!(get(&edge, "/page", ""), ("HIT".into(), "1".into()));
    gate.open();
}

#[test]
fn a_purge_while_others_wait_leaves_nothing_old() {
    let (origin, gate) = holding(0..1, KEPT);
    let edge = edge(&origin, "20s");
    let answers: Vec<_> = (0..3).map(|_| begin(edge.proxy[0], "/page")).collect();
    connections(&edge, 3.0);
    asked(&origin, 1);
    let api = Api::new(&edge, TOKEN);
    let zone = api.get("/zones")[0]["id"].as_str().unwrap().to_owned();
    api.post(&format!("/zones/{zone}/purge_cache"), &json!({"purge_everything": true}));
    gate.open();
    words(answers);
    // A connection counts before its request is read, so that one of those who wait may have come after the
    // purge, and what it fetched is kept rightly.
    let (_, body) = get(&edge, "/page", "");
    assert_ne!(body, "0");
    assert_eq!(get(&edge, "/page", ""), ("HIT".into(), body));
}

#[test]
fn an_old_response_is_served_while_another_is_on_its_way() {
    let fields = "cache-control: max-age=0, stale-while-revalidate=600\r\netag: \"a\"\r\n";
    let (origin, gate) = holding(1..2, fields);
    let with_lock = edge(&origin, "20s");
    assert_eq!(get(&with_lock, "/page", ""), ("MISS".into(), "0".into()));
    let first = begin(with_lock.proxy[0], "/page");
    asked(&origin, 2);
    for _ in 0..3 {
        assert_eq!(get(&with_lock, "/page", ""), ("UPDATING".into(), "0".into()));
    }
    assert_eq!(send(&with_lock, "GET", "/page?q=<script>alert(1)</script>", "").1.status, 403);
    gate.open();
    assert_eq!(first.join().unwrap(), ("EXPIRED".into(), "1".into()));
    assert_eq!(get(&with_lock, "/page", ""), ("EXPIRED".into(), "2".into()));
    // Whose origin does not let it stand waits for the new one.
    let (origin, gate) = holding(1..2, "cache-control: max-age=0\r\netag: \"a\"\r\n");
    let without = edge(&origin, "20s");
    assert_eq!(get(&without, "/page", ""), ("MISS".into(), "0".into()));
    let first = begin(without.proxy[0], "/page");
    asked(&origin, 2);
    let second = begin(without.proxy[0], "/page");
    connections(&without, 2.0);
    gate.open();
    assert_eq!(first.join().unwrap(), ("EXPIRED".into(), "1".into()));
    assert_eq!(second.join().unwrap(), ("EXPIRED".into(), "2".into()));
}
