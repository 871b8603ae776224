//! `[[zones.forward_auth]]`: who may go on is said by a service, whatever a client sends.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::listener::tls_listener;
use crate::support::{Client, Edge, Origin, Response, certificate, curl_output, refused_by_check, wait_for};

/// A service that lets `ann` go on, keeps its connection only sometimes, and answers others by what they ask for.
fn service() -> Origin {
    let asked = AtomicUsize::new(0);
    Origin::start(move |request, stream| {
        let cookie = request.header("cookie").unwrap_or("");
        let uri = request.header("x-forwarded-uri").unwrap_or("");
        let closes = asked.fetch_add(1, Ordering::Relaxed) % 3 == 2;
        let answer = match cookie {
            "who=ann" => {
                "HTTP/1.1 200 OK\r\nx-user: ann\r\nx-group: a\r\nx-group: b\r\nx-secret: s\r\ncontent-length: 2\r\n\r\nok"
                    .to_owned()
            }
            "who=eve" => "HTTP/1.1 403 Forbidden\r\ntransfer-encoding: chunked\r\ncontent-type: text/plain\r\nconnection: x-hop\r\n\
                 x-hop: 1\r\n\r\n5\r\nnot e\r\n2\r\nve\r\n0\r\n\r\n"
                .to_owned(),
            "who=broken" => "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort".to_owned(),
            "who=nonsense" => "NONSENSE\r\n\r\n".to_owned(),
            "who=nobody" => return false,
            "who=long" => format!("HTTP/1.1 403 Forbidden\r\ncontent-length: 2000000\r\n\r\n{}", "x".repeat(2_000_000)),
            "who=early" => "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\nx-user: early\r\n\r\n".to_owned(),
            "who=silent" => {
                // Until the edge does not wait any more.
                let _ = std::io::Read::read(stream, &mut [0]);
                return false;
            }
            _ => format!(
                "HTTP/1.1 302 Found\r\nlocation: https://login.example/?back={uri}\r\nset-cookie: state=1\r\ncontent-length: 0\r\n\r\n"
            ),
        };
        stream.write_all(answer.as_bytes()).is_ok() && !closes && !cookie.contains("broken")
    })
}

fn conf(origin: &Origin, service: &Origin) -> String {
    format!(
        "[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\n[[zones.forward_auth]]\n\
         expression = 'not starts_with(http.request.uri.path, \"/open\")'\nurl = \"{}/check?site=a\"\n\
         copy_headers = [\"x-user\", \"X-Group\"]\ntimeout = \"1s\"\n",
        origin.url(),
        service.url()
    )
}

fn send(edge: &Edge, request_line: &str, fields: &str, body: &str) -> Response {
    let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    let head = format!(
        "{request_line} HTTP/1.1\r\nHost: a.example\r\n{fields}{length}Connection: close\r\n\r\n{body}"
    );
    Client::once(edge.proxy[0], head)
}

const ANN: &str = "Cookie: who=ann\r\n";

#[test]
fn whom_the_service_lets_go_on_reaches_the_origin_with_its_fields() {
    let (origin, service) = (Origin::echo(), service());
    let edge = Edge::start(&conf(&origin, &service));
    let spoofed = "X-User: eve\r\nx_user: eve\r\nX_Group: root\r\nX-Forwarded-Uri: /open\r\nX_Forwarded_Method: GET\r\n\
         X-Forwarded-For: 192.0.2.1\r\n";
    for body in ["", "abc", &"x".repeat(70_000)] {
        let answer = send(&edge, "POST /a/../b?c=%20d", &format!("{ANN}{spoofed}"), body);
        assert_eq!((answer.status, answer.body.len()), (200, body.len()));
        let told = origin.last();
        let of = |name: &str| {
            let is_twin = |known: &str| known.replace('_', "-").eq_ignore_ascii_case(name);
            let found = told.headers.iter().filter(|(known, _)| is_twin(known));
            found.map(|(_, value)| value.clone()).collect::<Vec<_>>()
        };
        assert_eq!(
            (of("x-user"), of("x-group")),
            (vec!["ann".to_owned()], vec!["a".to_owned(), "b".to_owned()])
        );
        assert_eq!(of("x-secret"), Vec::<String>::new(), "only what is asked for is copied");
        let asked = service.last();
        assert_eq!(asked.line, "GET /check?site=a HTTP/1.1");
        for (name, expected) in [
            ("x-forwarded-uri", Some("/a/../b?c=%20d")),
            ("x-forwarded-method", Some("POST")),
            ("x-forwarded-host", Some("a.example")),
            ("x-forwarded-proto", Some("http")),
            ("x-forwarded-for", Some("127.0.0.1")),
            ("host", service.url().strip_prefix("http://")),
            ("content-length", None),
            ("x_forwarded_method", None),
        ] {
            assert_eq!(asked.header(name), expected, "{name}");
        }
        assert!(asked.body.is_empty());
    }
    assert_eq!(send(&edge, "GET /", "Cookie: who=early\r\n", "").status, 200);
    assert_eq!(origin.last().header("x-user"), Some("early"));
    // Where nobody is asked, a client cannot say who it is either.
    let before = service.requests().len();
    assert_eq!(send(&edge, "GET /open/x", spoofed, "").status, 200);
    assert_eq!((origin.last().header("x-user"), origin.last().header("x_user")), (None, None));
    assert_eq!(service.requests().len(), before);
    // By any spelling of a path, and over a connection that the service closed.
    for target in ["/open/../a", "/open%2f../a", "/x", "/y", "/z"] {
        assert_eq!(send(&edge, &format!("GET {target}"), "", "").status, 302, "{target}");
    }
}

#[test]
fn whom_it_does_not_gets_its_answer_and_the_origin_hears_nothing() {
    let (origin, service) = (Origin::echo(), service());
    let edge = Edge::start(&conf(&origin, &service));
    for (line, body) in [
        ("GET /a?b=1", ""),
        ("HEAD /a?b=1", ""),
        ("POST /a?b=1", "abc"),
        ("POST /a?b=1", &*"x".repeat(70_000)),
    ] {
        let answer = send(&edge, line, "", body);
        assert_eq!(answer.status, 302, "{line}");
        assert_eq!(answer.header("location"), Some("https://login.example/?back=/a?b=1"));
        assert_eq!(answer.header("set-cookie"), Some("state=1"));
        assert!(answer.header("svc-ray").is_some());
    }
    let refused = send(&edge, "GET /", "Cookie: who=eve\r\n", "");
    assert_eq!((refused.status, refused.text()), (403, "not eve".to_owned()));
    assert_eq!((refused.header("x-hop"), refused.header("transfer-encoding")), (None, None));
    assert_eq!(refused.header("content-length"), Some("7"));
    for who in ["broken", "nonsense", "nobody", "long", "silent"] {
        assert_eq!(send(&edge, "GET /", &format!("Cookie: who={who}\r\n"), "").status, 502, "{who}");
    }
    // A connection serves the next request after such an answer.
    let mut client = Client::connect(edge.proxy[0]);
    for expected in [302, 403, 302] {
        let cookie = if expected == 403 { "Cookie: who=eve\r\n" } else { "" };
        let request = format!("POST /a HTTP/1.1\r\nHost: a.example\r\n{cookie}Content-Length: 3\r\n\r\nabc");
        assert_eq!(client.send(request).receive().unwrap().status, expected);
    }
    // Rules decide before: the service is not asked about an attack.
    let before = service.requests().len();
    assert_eq!(send(&edge, "GET /?q=1'%20UNION%20SELECT%20a%20FROM%20b--", ANN, "").status, 403);
    let upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
    let request = format!("GET /socket HTTP/1.1\r\nHost: a.example\r\n{upgrade}\r\n");
    assert_eq!(Client::once(edge.proxy[0], request).status, 302);
    assert_eq!(service.requests().len(), before + 1);
    assert_eq!(service.last().header("upgrade"), None);
    assert_eq!(origin.begun().len(), 0);
    let refusals = |reason: &str| edge.metric(&format!("portcullis_refusals_total{{reason=\"{reason}\"}}"));
    wait_for("all requests to be counted", || (refusals("forward_auth") == 9.0).then_some(()));
    assert_eq!(refusals("forward_auth_silent"), 5.0);
}

#[test]
fn clients_of_http2_are_asked_about_too() {
    let (origin, service) = (Origin::echo(), service());
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example"]);
    let edge = Edge::start_in(folder, &format!("{}{}", tls_listener(&["a"]), conf(&origin, &service)), &[]);
    let url = format!("https://a.example:{}/", edge.proxy[0].port());
    let resolve = format!("a.example:{}:127.0.0.1", edge.proxy[0].port());
    let ask = |more: &[&str]| {
        let arguments =
            [&["-sk", "--http2", "--resolve", &resolve, "-o", "/dev/null", "-w", "%{http_code}", &url], more]
                .concat();
        String::from_utf8(curl_output(&arguments).stdout).unwrap()
    };
    assert_eq!(
        (ask(&["-d", "abc"]), ask(&["-d", "abc", "-b", "who=ann"])),
        ("302".to_owned(), "200".to_owned())
    );
    assert_eq!(service.last().header("x-forwarded-proto"), Some("https"));
    assert_eq!(service.last().header("cookie"), Some("who=ann"));
    assert_eq!(origin.requests().len(), 1);
}

#[test]
fn what_cannot_be_asked_is_refused_with_its_place() {
    let check = |more: &str| {
        refused_by_check(&format!(
            "[[zones]]\nname = \"a.example\"\norigins = [\"http://127.0.0.1:9\"]\n[[zones.forward_auth]]\n{more}"
        ))
    };
    assert!(check("timeout = \"1s\"\n").contains("`zones.forward_auth.url` is missing"));
    assert!(check("url = \"ftp://a.example\"\n").contains("`zones.forward_auth.url`: expected a URL"));
    for name in ["content-length", "Transfer-Encoding", "host", "a b", ""] {
        let message = check(&format!("url = \"http://a.example\"\ncopy_headers = [\"{name}\"]\n"));
        assert!(message.contains("takes names of fields that are about a user"), "{message}");
    }
    let body = check("url = \"http://a.example\"\nexpression = 'http.request.body.size gt 1'\n");
    assert!(body.contains("expressions of `zones.forward_auth` cannot ask for the body"), "{body}");
}
