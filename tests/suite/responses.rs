//! Rules of the response phases, through the proxy.

use std::io::Write;

use crate::listener::tls_listener;
use crate::support::{Client, Edge, Origin, certificate, curl_output};

const RULES: &str = r#"
SecResponseBodyMimeType text/plain text/html
SecRule RESPONSE_HEADERS:X-Debug "@streq on" "id:1,phase:3,deny,status:502,log,msg:'debug header'"
SecRule RESPONSE_BODY "@contains stack trace" "id:2,phase:4,deny,status:500,log,msg:'stack trace'"
SecRule OUTBOUND_DATA_ERROR "@eq 1" "id:3,phase:4,pass,log,msg:'longer than inspected'"
SecRule RESPONSE_STATUS "@streq 418" "id:4,phase:5,pass,log,msg:'teapot'"
"#;

/// An edge with the rules above, and the given settings of its zone and limits.
fn edge(origin: &Origin, waf: &str, rest: &str) -> (tempfile::TempDir, Edge) {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules.conf");
    std::fs::write(&rules, RULES).unwrap();
    let edge = Edge::start(&format!(
        "[rules]\nowasp = [\"{}\"]\n[[zones]]\nname = \"a.example\"\norigins = [\"http://{}\"]\n[zones.waf]\n{waf}{rest}",
        rules.display(),
        origin.address
    ));
    (folder, edge)
}

/// Answers by path: `/type/body`, with `-` for a space; `/debug` with a header; `/long/n` and `/chunked/n`.
fn origin() -> Origin {
    Origin::start(|request, stream| {
        let parts: Vec<&str> = request.path().trim_start_matches('/').split('/').collect();
        let (head, body) = match parts.as_slice() {
            ["debug"] => ("content-type: text/plain\r\nx-debug: on".to_owned(), "x".to_owned()),
            ["chunked", count] => {
                let piece = format!("{:x}\r\n{}\r\n", 1000, "y".repeat(1000));
                let body = piece.repeat(count.parse().unwrap()) + "c\r\nstack trace!\r\n0\r\n\r\n";
                let head =
                    "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n";
                return stream
                    .write_all(head.as_bytes())
                    .and_then(|()| stream.write_all(body.as_bytes()))
                    .is_ok();
            }
            ["long", count] => {
                ("content-type: text/plain".to_owned(), "y".repeat(count.parse().unwrap()) + "stack trace")
            }
            [kind, body] => (format!("content-type: {}", kind.replace('_', "/")), body.replace('-', " ")),
            _ => ("content-type: text/plain".to_owned(), "fine".to_owned()),
        };
        let answer = format!("HTTP/1.1 200 OK\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).is_ok()
    })
}

#[test]
fn rules_see_responses_only_where_a_zone_asks_for_it() {
    let origin = origin();
    let (_off_rules, off) = edge(&origin, "", "");
    assert_eq!(Client::get(off.proxy[0], "a.example", "/debug").status, 200);
    let (_rules, mut on) = edge(&origin, "response_rules = true\n", "");
    let answer = Client::get(on.proxy[0], "a.example", "/debug");
    assert_eq!(answer.status, 502);
    assert!(answer.header("x-debug").is_none(), "the origin's head must not get through");
    on.wait_for_event("security_event", |event| event["Ref"] == "1");
    let fine = Client::get(on.proxy[0], "a.example", "/");
    assert_eq!((fine.status, fine.body.as_slice()), (200, &b"fine"[..]));
}

#[test]
fn a_refused_body_never_ends_well() {
    let origin = origin();
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example"]);
    let rules = folder.path().join("rules.conf");
    std::fs::write(&rules, RULES).unwrap();
    let conf = format!(
        "{}[rules]\nowasp = [\"{}\"]\n[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\nresponse_rules = true\n",
        tls_listener(&["a"]),
        rules.display(),
        origin.url()
    );
    let edge = Edge::start_in(folder, &conf, &[]);
    let port = edge.proxy[0].port();
    let resolve = format!("a.example:{port}:127.0.0.1");
    let mut ran = 0;
    for version in ["--http2", "--http1.1"] {
        for (path, is_refused) in
            [("text_html/a-stack-trace", true), ("chunked/5", true), ("text_html/fine", false)]
        {
            let url = format!("https://a.example:{port}/{path}");
            let output = curl_output(&[version, "-w", "%{http_code}", "--resolve", &resolve, &url]);
            // A client must be able to tell: by the status where the head was not out yet, or else by
            // a stream that is reset or ends before its length.
            let is_whole = output.status.success() && output.stdout.ends_with(b"200");
            assert_eq!(is_whole, !is_refused, "{version} {path}: {output:?}");
            assert!(memchr::memmem::find(&output.stdout, b"stack").is_none(), "{version} {path}");
            ran += 1;
        }
    }
    assert_eq!(ran, 6);
}

#[test]
fn bodies_are_held_up_to_the_limit_and_only_of_the_named_kinds() {
    let origin = origin();
    let (_rules, mut on) =
        edge(&origin, "response_rules = true\n", "[limits]\ninspected_response = \"10KB\"\n");
    // The head is out when the body is judged: the client gets none of the body.
    let mut client = Client::connect(on.proxy[0]);
    client.send(b"GET /text_html/a-stack-trace HTTP/1.1\r\nHost: a.example\r\n\r\n");
    let cut = client.receive_all();
    assert!(memchr::memmem::find(&cut, b"stack").is_none(), "{}", String::from_utf8_lossy(&cut));
    on.wait_for_event("security_event", |event| event["Ref"] == "2");
    // Other kinds pass unseen, as does a body that is announced as too long.
    for path in ["/application_octet-stream/a-stack-trace", "/text_event-stream/a-stack-trace"] {
        let passed = Client::get(on.proxy[0], "a.example", path);
        assert_eq!((passed.status, passed.body.as_slice()), (200, &b"a stack trace"[..]), "{path}");
    }
    assert_eq!(Client::get(on.proxy[0], "a.example", "/long/10000").body.len(), 10_011);
    // Of unannounced length: within the limit it is judged whole, past it by its first part.
    let mut client = Client::connect(on.proxy[0]);
    client.send(b"GET /chunked/5 HTTP/1.1\r\nHost: a.example\r\n\r\n");
    assert!(memchr::memmem::find(&client.receive_all(), b"stack").is_none());
    let passed = Client::get(on.proxy[0], "a.example", "/chunked/50");
    assert_eq!((passed.status, passed.body.len()), (200, 50_012));
}
