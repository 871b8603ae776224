//! Connections as odd clients use them: several requests at once, framings in many forms, no reading.

use std::io::{Read, Write};
use std::process::Command;
use std::time::Duration;

use portcullis::clock::Clock;

use crate::listener::tls_listener;
use crate::support::{Client, Edge, Origin, certificate, wait_for};

fn zone(origin: &Origin, more: &str) -> String {
    format!("[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n{more}", origin.url())
}

#[test]
fn requests_that_come_together_are_answered_in_turn() {
    let origin = Origin::echo();
    for rules in ["", "[zones.waf]\n"] {
        let edge = Edge::start(&zone(&origin, rules));
        let post = |body: &str| {
            format!(
                "POST /{body} HTTP/1.1\r\nHost: a.example\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
        };
        let chunks =
            "POST /c HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ncc\r\n0\r\n\r\n";
        let get = "GET /g HTTP/1.1\r\nHost: a.example\r\n\r\n";
        let attack = "GET /?q=<script>alert(1)</script> HTTP/1.1\r\nHost: a.example\r\n\r\n";
        let all = format!("{}{get}{chunks}{attack}{}{get}", post("first"), post("second"));
        let expected = [("first", 200), ("", 200), ("cc", 200), ("", 0), ("second", 200), ("", 200)];
        for pieces in [1, 7, 50, all.len()] {
            let mut client = Client::connect(edge.proxy[0]);
            for piece in all.as_bytes().chunks(pieces) {
                client.send(piece);
            }
            for (nth, (body, status)) in expected.iter().enumerate() {
                let response =
                    client.receive().unwrap_or_else(|| panic!("no answer {nth} of pieces of {pieces}"));
                let status = if *status == 0 { if rules.is_empty() { 200 } else { 403 } } else { *status };
                assert_eq!(response.status, status, "{nth}");
                assert!(status != 200 || response.text() == *body, "{nth}: {}", response.text());
            }
        }
    }
}

#[test]
fn every_refused_head_has_an_id_an_event_and_a_count() {
    let origin = Origin::echo();
    let mut edge = Edge::start(&zone(&origin, ""));
    let head = "POST /x HTTP/1.1\r\nHost: a.example\r\n";
    for (fields, status, reason) in [
        ("Transfer-Encoding: identity\r\n", 501, "unknown_transfer_encoding"),
        ("Transfer-Encoding: chunked, identity\r\n", 501, "unknown_transfer_encoding"),
        ("Transfer-Encoding: xchunked\r\n", 501, "unknown_transfer_encoding"),
        ("Transfer-Encoding: gzip\r\n", 501, "unknown_transfer_encoding"),
        ("Transfer-Encoding:\r\n", 501, "unknown_transfer_encoding"),
        ("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", 400, "length_and_transfer_encoding"),
        ("Content-Length: 3\r\nContent-Length: 4\r\n", 400, "repeated_content_length"),
        ("X Y: 1\r\n", 400, "bad_header_field"),
        ("Host: b.example\r\n", 400, "bad_host"),
    ] {
        let mut client = Client::connect(edge.proxy[0]);
        let response =
            client.send(format!("{head}{fields}\r\n")).receive().unwrap_or_else(|| panic!("{fields}"));
        assert_eq!((response.status, response.header("connection")), (status, Some("close")), "{fields}");
        let ray = response.header("svc-ray").unwrap().to_owned();
        let event = edge.wait_for_event("request_refused", |event| event["RayID"] == ray.as_str());
        assert_eq!((&event["reason"], &event["status"]), (&reason.into(), &status.into()), "{fields}");
        let request = edge.wait_for_event("request", |event| event["RayID"] == ray.as_str());
        assert_eq!(request["EdgeResponseStatus"], status, "{fields}");
        assert!(edge.metric(&format!("portcullis_refusals_total{{reason=\"{reason}\"}}")) >= 1.0);
    }
    for chunks in
        ["\r\nabc\r\n0\r\n\r\n", "3\nabc\r\n0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n", "-1\r\n", "0x3\r\nabc\r\n"]
    {
        let mut client = Client::connect(edge.proxy[0]);
        client.send(format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunks}"));
        assert!(client.receive().is_none_or(|response| response.status >= 400), "{chunks:?}");
    }
    assert!(origin.requests().iter().all(|request| request.body.is_empty()));
}

#[test]
fn origins_get_what_is_meant_for_them() {
    let origin = Origin::echo();
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example"]);
    let conf = format!("{}{}", tls_listener(&["a"]), zone(&origin, ""));
    let edge = Edge::start_in(folder, &conf, &[]);
    // Browsers send each cookie in a field of its own.
    let url = format!("https://127.0.0.1:{}/", edge.proxy[0].port());
    let sent = Command::new("nghttp")
        .args(["-n", "-H", ":authority: a.example", "-H", "cookie: a=1", "-H", "cookie: b=2", &url])
        .output()
        .unwrap();
    assert!(sent.status.success(), "{sent:?}");
    wait_for("the request", || (!origin.requests().is_empty()).then_some(()));
    let cookies: Vec<String> = origin
        .last()
        .headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("cookie"))
        .map(|(_, v)| v.clone())
        .collect();
    assert_eq!(cookies, ["a=1; b=2"]);
    let spoofed = "X-Real-IP: 1.2.3.4\r\nForwarded: for=1.2.3.4\r\nsvc_connecting_ip: 1.2.3.4\r\nX_Forwarded_For: 1.2.3.4\r\nProxy: http://1.2.3.4\r\n";
    let edge = Edge::start(&zone(&origin, ""));
    let target = format!("GET http://a.example/p?q HTTP/1.1\r\nHost: a.example\r\n{spoofed}\r\n");
    assert_eq!(Client::once(edge.proxy[0], target).status, 200);
    let seen = origin.last();
    assert_eq!(seen.path(), "/p?q");
    assert!(seen.headers.iter().all(|(_, value)| !value.contains("1.2.3.4")), "{seen:?}");
}

#[test]
fn clients_of_http10_get_no_1xx() {
    let origin = Origin::start(|_, stream| {
        let answer =
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        stream.write_all(answer.as_bytes()).is_ok()
    });
    let edge = Edge::start(&zone(&origin, ""));
    for (version, first) in [("1.0", 200), ("1.1", 103)] {
        let mut client = Client::connect(edge.proxy[0]);
        client.send(format!("GET / HTTP/{version}\r\nHost: a.example\r\n\r\n"));
        assert_eq!(client.head().unwrap().status, first, "{version}");
    }
}

#[test]
fn a_client_that_reads_nothing_is_let_go() {
    let origin = Origin::fixed("text/plain", vec![b'x'; 50 << 20]);
    let edge = Edge::start(&format!("{}[limits]\nwrite_timeout = \"300ms\"\n", zone(&origin, "")));
    let mut client = Client::connect(edge.proxy[0]);
    client.send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
    wait_for("the origin to be asked", || (!origin.begun().is_empty()).then_some(()));
    edge.wait_for_metric("portcullis_connections", 0.0);
    let mut bytes = Vec::new();
    // What was under way comes, and then the end.
    let _ = client.reader.read_to_end(&mut bytes);
    assert!(bytes.len() < 50 << 20);
}

#[test]
fn a_client_that_reads_slowly_gets_all_of_it() {
    const BYTES: usize = 50 << 20;
    let origin = Origin::fixed("text/plain", vec![b'x'; BYTES]);
    let edge = Edge::start(&format!("{}[limits]\nwrite_timeout = \"2s\"\n", zone(&origin, "")));
    let mut client = Client::connect(edge.proxy[0]);
    client.send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
    assert_eq!(client.head().unwrap().status, 200);
    // Some of it each tenth of a second, for longer than the timeout in all.
    let begun = Clock::real().start();
    let mut piece = vec![0; BYTES / 32];
    for tenth in 0..32 {
        wait_for("the time of the next piece", || {
            (begun.elapsed() >= Duration::from_millis(100) * tenth).then_some(())
        });
        client.reader.read_exact(&mut piece).unwrap();
    }
}
