//! Request bodies past the rules: both modes, at their border, over both protocols.

use std::io::Write;

use crate::listener::tls_listener;
use crate::support::{Client, Edge, Origin, certificate, curl};

fn zone(origin: &Origin) -> String {
    format!("[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\n", origin.url())
}

const SIZES: [usize; 6] = [0, 1, 65_535, 65_536, 65_537, 300_000];

/// Bytes that are no argument of anything.
fn content(size: usize) -> Vec<u8> {
    (0..size).map(|at| b"abcdefghij"[at % 10]).collect()
}

#[test]
fn every_size_arrives_whole_over_http1() {
    let origin = Origin::echo();
    let edge = Edge::start(&zone(&origin));
    for size in SIZES {
        let body = content(size);
        let response = Client::post(edge.proxy[0], "a.example", "/", "text/plain", &body);
        assert_eq!(
            (response.status, String::from_utf8_lossy(&response.body).len(), response.body == body),
            (200, size, true),
            "{size} bytes by length {:?}",
            response
        );
        assert_eq!(origin.last().body.len(), size);
        let mut chunked = b"POST / HTTP/1.1\r\nHost: a.example\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for part in body.chunks(10_000) {
            write!(chunked, "{:x}\r\n", part.len()).unwrap();
            chunked.extend_from_slice(part);
            chunked.extend_from_slice(b"\r\n");
        }
        chunked.extend_from_slice(b"0\r\n\r\n");
        let response = Client::once(edge.proxy[0], chunked);
        assert_eq!((response.status, response.body == body), (200, true), "{size} bytes in chunks");
    }
}

#[test]
fn every_size_arrives_whole_over_http2() {
    let origin = Origin::echo();
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example"]);
    let edge = Edge::start_in(folder, &format!("{}{}", tls_listener(&["a"]), zone(&origin)), &[]);
    let url = format!("https://a.example:{}/", edge.proxy[0].port());
    let resolve = format!("a.example:{}:127.0.0.1", edge.proxy[0].port());
    for size in SIZES {
        let body = content(size);
        let file = edge.folder.path().join("body");
        std::fs::write(&file, &body).unwrap();
        let data = format!("@{}", file.display());
        for extra in [
            &["-H", "content-type: text/plain"][..],
            &["-H", "content-type: text/plain", "-H", "content-length:"][..],
        ] {
            let arguments =
                [&["--http2", "--resolve", &resolve, "--data-binary", &data], extra, &[&url]].concat();
            let (status, answer) = curl(&arguments);
            assert_eq!((status, answer.as_bytes() == body), (200, true), "{size} bytes with {extra:?}");
        }
    }
}

#[test]
fn an_attack_is_found_wherever_it_stands() {
    let origin = Origin::echo();
    let edge = Edge::start(&zone(&origin));
    let attack = b"&q=1'%20UNION%20SELECT%20password%20FROM%20users--";
    for size in [100, 65_400, 70_000, 300_000] {
        let body = [b"a=".as_slice(), &content(size), attack].concat();
        let before = origin.begun().len();
        let response =
            Client::post(edge.proxy[0], "a.example", "/", "application/x-www-form-urlencoded", &body);
        assert_eq!(response.status, 403, "{size}");
        assert_eq!(origin.begun().len(), before, "nothing of a refused request reaches the origin");
    }
    for (content_type, body) in [
        ("application/json", r#"{"a":{"b":["x","1' OR '1'='1"]}}"#),
        ("application/vnd.api+json; charset=utf-8", r#"{"q":"<script>alert(1)</script>"}"#),
        (
            "multipart/form-data; boundary=B",
            "--B\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\n../../etc/passwd\r\n--B--\r\n",
        ),
    ] {
        assert_eq!(
            Client::post(edge.proxy[0], "a.example", "/", content_type, body.as_bytes()).status,
            403,
            "{content_type}"
        );
    }
    // A body that is not what it says is refused too; text that is nothing in particular passes.
    assert_eq!(Client::post(edge.proxy[0], "a.example", "/", "application/json", b"{\"a\":").status, 403);
    assert_eq!(
        Client::post(edge.proxy[0], "a.example", "/", "application/json", br#"{"name":"O'Brien","n":[1,2]}"#)
            .status,
        200
    );
}

#[test]
fn limits_refuse_or_pass_as_set() {
    let origin = Origin::echo();
    let limits =
        "[limits]\ninspected_body = \"100KB\"\narguments = 10\njson_depth = 4\nmultipart_parts = 2\n";
    let edge = Edge::start(&format!("{}{limits}", zone(&origin)));
    let post = |body: &[u8]| Client::post(edge.proxy[0], "a.example", "/", "text/plain", body).status;
    assert_eq!((post(&content(100_000)), post(&content(100_001))), (200, 413));
    let chunked = [
        b"POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n30d40\r\n".as_slice(),
        &content(200_000),
        b"\r\n0\r\n\r\n",
    ]
    .concat();
    assert_eq!(Client::once(edge.proxy[0], chunked).status, 413);
    let arguments = |count: usize| (0..count).map(|n| format!("a{n}=1")).collect::<Vec<_>>().join("&");
    let get = |query: String| Client::get(edge.proxy[0], "a.example", &format!("/?{query}")).status;
    assert_eq!((get(arguments(10)), get(arguments(11))), (200, 400));
    let json = |text: &str| {
        Client::post(edge.proxy[0], "a.example", "/", "application/json", text.as_bytes()).status
    };
    assert_eq!((json("[[[[1]]]]"), json("[[[[[1]]]]]")), (200, 403));
    let part = "--B\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\n1\r\n";
    let form = |parts: usize| {
        let body = part.repeat(parts) + "--B--\r\n";
        Client::post(edge.proxy[0], "a.example", "/", "multipart/form-data; boundary=B", body.as_bytes())
            .status
    };
    assert_eq!((form(2), form(3)), (200, 403));

    let passing = Edge::start(&format!(
        "{}[limits]\ninspected_body = \"100KB\"\ninspected_body_policy = \"pass\"\n",
        zone(&origin)
    ));
    let body = content(300_000);
    let response = Client::post(passing.proxy[0], "a.example", "/", "text/plain", &body);
    assert_eq!((response.status, response.body == body), (200, true));
    passing.wait_for_metric("portcullis_bodies_uninspected_total", 1.0);

    let crowded = Edge::start(&format!("{}[limits]\ninspected_bodies = \"50KB\"\n", zone(&origin)));
    assert_eq!(Client::post(crowded.proxy[0], "a.example", "/", "text/plain", &content(50_000)).status, 200);
    let busy = Client::post(crowded.proxy[0], "a.example", "/", "text/plain", &content(50_001));
    assert_eq!((busy.status, busy.header("retry-after")), (503, Some("1")));
}

#[test]
fn time_for_rules_ends_as_set() {
    let origin = Origin::echo();
    let attack = "/?q=1'%20UNION%20SELECT%20a%20FROM%20b";
    for (limits, status, unfinished) in [
        ("", 403, 0.0),
        ("rules_time = \"10m\"\nrules_time_policy = \"block\"\n", 403, 0.0),
        ("rules_time = \"1us\"\n", 200, 1.0),
        ("rules_time = \"1us\"\nrules_time_policy = \"block\"\n", 503, 1.0),
    ] {
        let mut edge = Edge::start(&format!("{}[limits]\n{limits}", zone(&origin)));
        assert_eq!(Client::get(edge.proxy[0], "a.example", attack).status, status, "{limits}");
        edge.wait_for_metric("portcullis_rules_unfinished_total", unfinished);
        if unfinished > 0.0 {
            let event = edge.wait_for_event("rules_unfinished", |_| true);
            assert!(
                event["Ref"].as_str().is_some_and(|rule| rule.parse::<u64>().is_ok_and(|id| id > 0)),
                "{event}"
            );
        } else {
            // The first request is always one of the sample.
            assert!(edge.metrics().contains("portcullis_rule_sampled_seconds{rule=\""));
            assert!(edge.metrics().contains("portcullis_rule_sampled_hits{rule=\""));
        }
    }
}

#[test]
fn a_client_that_waits_for_continue_is_told_to_go_on() {
    let origin = Origin::echo();
    let edge = Edge::start(&zone(&origin));
    for size in [1000, 100_000] {
        let mut client = Client::connect(edge.proxy[0]);
        client.send(format!(
            "POST / HTTP/1.1\r\nHost: a.example\r\nExpect: 100-continue\r\nContent-Length: {size}\r\n\r\n"
        ));
        assert_eq!(client.head().unwrap().status, 100, "{size}");
        let response = client.send(content(size)).receive().unwrap();
        assert_eq!((response.status, response.body.len()), (200, size));
        assert_eq!(origin.last().header("expect"), None);
    }
}

#[test]
fn a_body_that_breaks_off_reaches_no_origin() {
    let origin = Origin::echo();
    let edge = Edge::start(&zone(&origin));
    for (head, part) in
        [("Content-Length: 5000", 100), ("Content-Length: 90000", 70_000), ("Transfer-Encoding: chunked", 0)]
    {
        let mut client = Client::connect(edge.proxy[0]);
        client.send(format!("POST / HTTP/1.1\r\nHost: a.example\r\n{head}\r\n\r\n")).send(content(part));
        client.reader.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
        assert!(client.receive().is_none_or(|response| response.status >= 400), "{head}");
    }
    assert_eq!(origin.begun(), Vec::<String>::new());
    assert_eq!(Client::get(edge.proxy[0], "a.example", "/").status, 200);
}
