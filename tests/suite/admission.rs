//! What Pingora accepts and we must refuse, as raw bytes over HTTP/1.1 and through curl over HTTP/2.

use crate::listener::tls_listener;
use crate::support::{Client, Edge, Origin, certificate, curl, wait_for};

fn edge(origin: &Origin) -> Edge {
    Edge::start(&format!("[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n", origin.url()))
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn the_table_over_http1() {
    let origin = Origin::echo();
    let edge = edge(&origin);
    let ok = "GET / HTTP/1.1\r\nHost: a.example\r\n";
    let post = "POST / HTTP/1.1\r\nHost: a.example\r\n";
    let many: String = (0..101).map(|n| format!("X-{n}: y\r\n")).collect();
    let cases: Vec<(&str, String, u16)> = vec![
        ("TE and CL", format!("{post}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"), 400),
        ("CL and TE", format!("{post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400),
        ("two equal CL", format!("{post}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"), 400),
        ("CL list", format!("{post}Content-Length: 3, 3\r\n\r\nabc"), 400),
        ("TE gzip, chunked", format!("{post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), 501),
        (
            "TE identity and chunked",
            format!("{post}Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            501,
        ),
        (
            "TE chunked twice",
            format!("{post}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            400,
        ),
        ("bare LF", "GET / HTTP/1.1\nHost: a.example\n\n".to_owned(), 400),
        ("bare LF in one line", "GET / HTTP/1.1\r\nHost: a.example\nX: y\r\n\r\n".to_owned(), 400),
        ("leading CRLF", format!("\r\n{ok}\r\n"), 200),
        ("no Host", "GET / HTTP/1.1\r\nX: y\r\n\r\n".to_owned(), 400),
        ("TRACE", "TRACE / HTTP/1.1\r\nHost: a.example\r\n\r\n".to_owned(), 405),
        ("lower-case method", "get / HTTP/1.1\r\nHost: a.example\r\n\r\n".to_owned(), 400),
        ("any token method", "BREW / HTTP/1.1\r\nHost: a.example\r\n\r\n".to_owned(), 405),
        ("space in the target", "GET /a b HTTP/1.1\r\nHost: a.example\r\n\r\n".to_owned(), 400),
        ("64 KB target", format!("GET /{} HTTP/1.1\r\nHost: a.example\r\n\r\n", "x".repeat(64_000)), 414),
        (
            "line at its limit",
            format!("GET /{} HTTP/1.1\r\nHost: a.example\r\n\r\n", "x".repeat(8192 - 15)),
            200,
        ),
        (
            "line past its limit",
            format!("GET /{} HTTP/1.1\r\nHost: a.example\r\n\r\n", "x".repeat(8192 - 13)),
            414,
        ),
        ("500 KB of headers", format!("{ok}X: {}\r\n\r\n", "x".repeat(500 << 10)), 431),
        ("33 KB of headers", format!("{ok}X: {}\r\n\r\n", "x".repeat(33 << 10)), 431),
        ("101 fields more", format!("{ok}{many}\r\n"), 431),
        (
            "chunk extension",
            format!("{post}Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n"),
            200,
        ),
        // What Pingora itself refuses must stay refused.
        ("differing CL", format!("{post}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"), 400),
        ("CL +3", format!("{post}Content-Length: +3\r\n\r\nabc"), 400),
        (
            "TE with a space before the colon",
            format!("{post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
            400,
        ),
        (
            "TE on HTTP/1.0",
            "POST / HTTP/1.0\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
            400,
        ),
        ("folded header", format!("{ok}X: a\r\n b\r\n\r\n"), 400),
        ("NUL in a value", format!("{ok}X: a\0b\r\n\r\n"), 400),
        ("two hosts", format!("{ok}Host: b.example\r\n\r\n"), 400),
        ("HTTP/2.0", "GET / HTTP/2.0\r\nHost: a.example\r\n\r\n".to_owned(), 400),
        ("CONNECT", "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n".to_owned(), 405),
        ("bad host", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n".to_owned(), 400),
    ];
    let total = cases.len();
    let mut ran = 0;
    for (name, raw, status) in cases {
        let mut client = Client::connect(edge.proxy[0]);
        let response = client.send(&raw).receive().unwrap_or_else(|| panic!("{name}: no response"));
        assert_eq!(response.status, status, "{name}");
        if status != 200 {
            assert!(client.is_closed(), "{name}: the connection must be closed");
        }
        ran += 1;
    }
    assert_eq!(ran, total);
    // Only what was let in reached the origin, and each refusal has its reason.
    assert_eq!(origin.requests().len(), 3);
    for reason in [
        "length_and_transfer_encoding",
        "bare_lf",
        "request_line_too_long",
        "too_many_header_fields",
        "missing_host",
    ] {
        wait_for("the refusal to be counted", || {
            (edge.metric(&format!("portcullis_refusals_total{{reason=\"{reason}\"}}")) >= 1.0).then_some(())
        });
    }
}

#[test]
fn nothing_follows_a_refused_head() {
    let origin = Origin::echo();
    let edge = edge(&origin);
    let smuggled = "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 44\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a.example\r\n\r\n";
    let mut client = Client::connect(edge.proxy[0]);
    assert_eq!(client.send(smuggled).receive().unwrap().status, 400);
    assert!(client.is_closed());
    assert!(origin.requests().is_empty());
}

#[test]
fn the_table_over_http2() {
    let origin = Origin::echo();
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example"]);
    let conf = format!(
        "{}[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n",
        tls_listener(&["a"]),
        origin.url()
    );
    let edge = Edge::start_in(folder, &conf, &[]);
    let url = format!("https://a.example:{}/", edge.proxy[0].port());
    let resolve = format!("a.example:{}:127.0.0.1", edge.proxy[0].port());
    let many: Vec<String> = (0..101).flat_map(|n| ["-H".to_owned(), format!("x-{n}: y")]).collect();
    let long_target = format!("{url}{}", "x".repeat(9000));
    let long_header = format!("x: {}", "x".repeat(33 << 10));
    let cases: Vec<(&str, Vec<&str>, &str, u16)> = vec![
        ("plain", vec![], &url, 200),
        ("TRACE", vec!["-X", "TRACE"], &url, 405),
        ("lower-case method", vec!["-X", "get"], &url, 400),
        ("long target", vec![], &long_target, 414),
        ("101 fields", many.iter().map(String::as_str).collect(), &url, 431),
        ("33 KB of headers", vec!["-H", &long_header], &url, 431),
    ];
    let mut ran = 0;
    for (name, arguments, url, status) in &cases {
        let arguments = [&["--http2", "--resolve", &resolve], arguments.as_slice(), &[url]].concat();
        assert_eq!(curl(&arguments).0, *status, "{name}");
        ran += 1;
    }
    assert_eq!(ran, cases.len());
    assert_eq!(origin.requests().len(), 1);
}

#[test]
fn unknown_hosts_get_a_page_with_the_reason() {
    let origin = Origin::echo();
    let edge = edge(&origin);
    let response =
        Client::once(edge.proxy[0], "GET / HTTP/1.1\r\nHost: b.example\r\nAccept: text/html\r\n\r\n");
    assert_eq!((response.status, response.header("content-type")), (404, Some("text/html; charset=utf-8")));
    assert!(response.text().contains("Error 1018: no site of this name is served here."));
    assert!(response.text().contains(response.header("svc-ray").unwrap()));
    assert_eq!(Client::get(edge.proxy[0], "WWW.A.example.:80", "/").status, 200);
}
