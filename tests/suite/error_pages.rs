//! Pages that rules put in the place of errors: those of origins, and our own.

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::api::{edge, zone};
use crate::listener::tls_listener;
use crate::support::{Api, Client, Edge, Origin, certificate, curl, refused_by_check, wait_for};

const PHASE: &str = "http_custom_errors";

fn page(expression: &str, parameters: &Value) -> Value {
    json!({"action": "serve_error", "expression": expression, "action_parameters": parameters})
}

fn text(content: &str) -> Value {
    json!({"content": content, "content_type": "text/plain"})
}

fn put(api: &Api, owner: &str, phase: &str, rules: &[Value]) -> Value {
    api.result("PUT", &format!("{owner}/rulesets/phases/{phase}/entrypoint"), &json!({"rules": rules}))
}

/// An origin that answers with the status, the fields and the body that a path names.
fn failing() -> Origin {
    Origin::start(|request, stream| {
        let long = "x".repeat(1 << 20);
        let (status, fields, body) = match request.path() {
            "/ok" => (200, "content-length: 2\r\n", "ok"),
            "/404" => (404, "content-type: text/html\r\netag: \"a\"\r\ncontent-length: 5\r\n", "their"),
            "/gzip" => (404, "content-encoding: gzip\r\ncontent-length: 4\r\n", "\x1f\x0b\x08\x00"),
            "/401" => {
                (401, "www-authenticate: Basic realm=a\r\nset-cookie: a=b\r\ncontent-length: 2\r\n", "no")
            }
            "/empty" => (503, "retry-after: 7\r\ncontent-length: 0\r\n", ""),
            "/chunks" => (500, "transfer-encoding: chunked\r\n", "5\r\ntheir\r\n0\r\n\r\n"),
            "/long" => (500, "content-length: 1048576\r\n", long.as_str()),
            "/close" => (500, "connection: close, x-hop\r\nx-hop: 1\r\n", "until the end"),
            _ => (418, "content-length: 3\r\n", "tea"),
        };
        let body = if request.line.starts_with("HEAD") { "" } else { body };
        let closes = fields.contains("close");
        let sent = write(stream, &format!("HTTP/1.1 {status} X\r\n{fields}\r\n{body}"));
        sent && !closes
    })
}

fn write(stream: &mut TcpStream, text: &str) -> bool {
    stream.write_all(text.as_bytes()).is_ok()
}

fn ask(edge: &Edge, method: &str, target: &str) -> crate::support::Response {
    let head = format!("{method} {target} HTTP/1.1\r\nHost: a.example\r\nAccept: text/html\r\n");
    let mut client = Client::connect(edge.proxy[0]);
    client.send(format!("{head}\r\n"));
    match method {
        "HEAD" => client.head().unwrap(),
        _ => client.receive().unwrap(),
    }
}

#[test]
fn errors_of_origins_are_replaced_whatever_their_body() {
    let origin = failing();
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let owner = format!("/zones/{id}");
    let own = json!({"content": "<p>::RAY_ID::</p>", "content_type": "text/html", "status_code": 503});
    let rules = [
        page("http.response.code eq 404", &text("gone")),
        page("http.request.uri.path in {\"/chunks\" \"/long\"}", &own),
        page("http.response.code ge 400 and http.response.code ne 418", &text("other")),
    ];
    let shown = put(&api, &owner, PHASE, &rules);
    assert_eq!(shown["rules"][1]["action_parameters"], own, "it is shown as it was written");
    for (target, status, body) in [
        ("/ok", 200, "ok"),
        ("/404", 404, "gone"),
        ("/gzip", 404, "gone"),
        ("/401", 401, "other"),
        ("/empty", 503, "other"),
        ("/chunks", 503, "RAY"),
        ("/long", 503, "RAY"),
        ("/close", 500, "other"),
        ("/tea", 418, "tea"),
    ] {
        for method in ["GET", "HEAD", "POST"] {
            let answer = ask(&edge, method, target);
            let ray = answer.header("svc-ray").unwrap().to_owned();
            let body = if body == "RAY" { format!("<p>{ray}</p>") } else { body.to_owned() };
            assert_eq!(answer.status, status, "{method} {target}");
            if !matches!(target, "/ok" | "/tea") {
                assert_eq!(answer.header("content-length"), Some(body.len().to_string().as_str()));
                for gone in ["etag", "content-encoding", "transfer-encoding", "x-hop"] {
                    assert_eq!(answer.header(gone), None, "{method} {target}: {gone}");
                }
            }
            if method != "HEAD" {
                assert_eq!(answer.text(), body, "{method} {target}");
            }
        }
    }
    let told = ask(&edge, "GET", "/401");
    assert_eq!(
        (told.header("www-authenticate"), told.header("set-cookie")),
        (Some("Basic realm=a"), Some("a=b"))
    );
    assert_eq!(ask(&edge, "GET", "/empty").header("retry-after"), Some("7"));
    // The connection stays in step: what follows is the next answer.
    let mut client = Client::connect(edge.proxy[0]);
    for target in ["/404", "/gzip", "/long", "/ok"] {
        client.send(format!("GET {target} HTTP/1.1\r\nHost: a.example\r\n\r\n"));
        let expected = if target == "/ok" { 200 } else { client_status(target) };
        assert_eq!(client.receive().unwrap().status, expected, "{target}");
    }
    // An account's page comes first; a skip leaves the errors as they are.
    put(&api, "/accounts/acme", PHASE, &[page("http.response.code eq 418", &text("all"))]);
    assert_eq!(ask(&edge, "GET", "/tea").text(), "all");
    let skip = json!({"action": "skip", "expression": "true", "action_parameters": {"phases": [PHASE]}});
    put(&api, &owner, "http_request_firewall_custom", std::slice::from_ref(&skip));
    put(&api, "/accounts/acme", "http_request_firewall_custom", &[skip]);
    assert_eq!(
        (ask(&edge, "GET", "/404").text(), ask(&edge, "GET", "/tea").text()),
        ("their".into(), "tea".into())
    );
}

fn client_status(target: &str) -> u16 {
    if target == "/long" { 503 } else { 404 }
}

#[test]
fn our_own_errors_are_replaced_but_not_what_a_rule_answers_itself() {
    let origin = failing();
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let owner = format!("/zones/{id}");
    put(&api, &owner, PHASE, &[page("http.response.code ge 400", &text("sorry ::RAY_ID::"))]);
    let path = |text: &str| format!("http.request.uri.path eq \"{text}\"");
    let own = json!({"response": {"status_code": 410, "content": "mine", "content_type": "text/plain"}});
    put(
        &api,
        &owner,
        "http_request_firewall_custom",
        &[
            json!({"action": "block", "expression": path("/block")}),
            json!({"action": "block", "expression": path("/own"), "action_parameters": own}),
            json!({"action": "js_challenge", "expression": path("/challenge")}),
        ],
    );
    let blocked = ask(&edge, "GET", "/block");
    let ray = blocked.header("svc-ray").unwrap();
    assert_eq!((blocked.status, blocked.text()), (403, format!("sorry {ray}")));
    assert_eq!(ask(&edge, "GET", "/own").text(), "mine");
    let challenge = ask(&edge, "GET", "/challenge");
    assert!(challenge.text().contains("<!doctype html>") && challenge.header("svc-mitigated").is_some());
    api.result("PATCH", &owner, &json!({"origins": ["http://127.0.0.1:1"]}));
    let down = ask(&edge, "GET", "/ok");
    assert_eq!((down.status, down.text().starts_with("sorry ")), (502, true));
    assert_eq!(ask(&edge, "TRACE", "/ok").status, 405);
}

#[test]
fn clients_of_http_2_get_them_and_files_have_them() {
    let (origin, folder) = (failing(), tempfile::tempdir().unwrap());
    certificate(folder.path(), "c", &["a.example"]);
    let rules = "rulesets = [{ phase = \"http_custom_errors\", rules = [{ action = \"serve_error\", \
                 expression = \"http.response.code ge 400\", \
                 action_parameters = { content = \"page\", content_type = \"text/plain\" } }] }]";
    let zone =
        |rules: &str| format!("[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n{rules}\n", origin.url());
    let edge = Edge::start_in(folder, &format!("{}{}", tls_listener(&["c"]), zone(rules)), &[]);
    let port = edge.proxy[0].port();
    for target in ["/404", "/empty", "/chunks", "/long", "/close", "/ok"] {
        let (url, resolve) =
            (format!("https://a.example:{port}{target}"), format!("a.example:{port}:127.0.0.1"));
        let (status, body) = curl(&["-sk", "--http2", "--resolve", &resolve, &url]);
        assert_eq!(body, if target == "/ok" { "ok" } else { "page" }, "{target} {status}");
    }
    for (from, to, words) in [
        ("text/plain", "image/png", "`content_type` is one of"),
        ("content = \"page\", ", "", "missing field `content`"),
        ("content =", "status_code = 200, content =", "takes 400 to 999"),
        ("serve_error", "block", "expected one of `execute`, `serve_error`, `skip`"),
    ] {
        let refused = refused_by_check(&zone(&rules.replace(from, to)));
        assert!(refused.contains(words), "{refused}");
    }
}

#[test]
fn files_of_a_zone_are_its_pages() {
    let origin = failing();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sorry.html"), "<p>Sorry, ::RAY_ID::</p>").unwrap();
    std::fs::write(folder.path().join("gone.json"), "{\"gone\":true}").unwrap();
    let conf = format!(
        "[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\n[[zones.error_pages]]\nstatuses = [\"404\"]\nfile = \"gone.json\"\n\
         [[zones.error_pages]]\nstatuses = [\"5xx\", \"403\"]\nfile = \"sorry.html\"\n",
        origin.url()
    );
    let edge = Edge::start_in(folder, &conf, &[]);
    let seen = |target: &str| {
        let answer = ask(&edge, "GET", target);
        (answer.status, answer.header("content-type").unwrap_or("").to_owned(), answer.text())
    };
    assert_eq!(seen("/404"), (404, "application/json".to_owned(), "{\"gone\":true}".to_owned()));
    let (status, kind, text) = seen("/chunks");
    assert_eq!((status, kind.as_str()), (500, "text/html"));
    assert!(text.starts_with("<p>Sorry, ") && !text.contains("RAY_ID"), "{text}");
    // Our own errors, too; what is no error of these is as it was.
    assert_eq!(seen("/ok?q=1'%20UNION%20SELECT%20a%20FROM%20b--").0, 403);
    assert!(seen("/ok?q=1'%20UNION%20SELECT%20a%20FROM%20b--").2.starts_with("<p>Sorry, "));
    assert_eq!((seen("/ok").2.as_str(), seen("/401").0, seen("/tea").2.as_str()), ("ok", 401, "tea"));
    // A changed file holds at once.
    std::fs::write(edge.folder.path().join("gone.json"), "{}").unwrap();
    wait_for("the new page", || (seen("/404").2 == "{}").then_some(()));
}

#[test]
fn files_that_can_be_no_page_are_refused_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let (good, image) = (write("a.html", b"x"), write("a.png", b"x"));
    let (latin, long) = (write("latin.html", b"\xe4"), write("long.txt", &[b'x'; 30_001]));
    let check = |statuses: &str, file: &str, more: &str| {
        refused_by_check(&format!(
            "[[zones]]\nname = \"a.example\"\norigins = [\"http://127.0.0.1:9\"]\n{more}[[zones.error_pages]]\nstatuses = {statuses}\nfile = {file:?}\n"
        ))
    };
    assert!(check("[\"200\"]", &good, "").contains("takes statuses from 400 on"));
    assert!(check("[]", &good, "").contains("takes statuses from 400 on"));
    assert!(check("[\"404\"]", "missing.html", "").contains("cannot read"));
    assert!(check("[\"404\"]", &image, "").contains("takes files ending in"));
    assert!(check("[\"404\"]", &latin, "").contains("expected text in UTF-8"));
    assert!(check("[\"404\"]", &long, "").contains("at most 30000 bytes"));
    let both = "rulesets = [{ phase = \"http_custom_errors\", rules = [] }]\n";
    assert!(check("[\"404\"]", &good, both).contains("both by `rulesets` and by its short form"));
}
