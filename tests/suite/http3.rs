//! HTTP/3: the same edge, by QUIC.

use std::io::Write as _;
use std::net::{TcpStream, UdpSocket};
use std::process::Command;
use std::sync::Mutex;

use bytes::Bytes;
use serde_json::json;

use crate::listener::tls_listener;
use crate::protocols::free_port;
use crate::support::{
    Api, Browser, Edge, Http3, Origin, Response, certificate, get, refused_by_check, wait_for,
};

/// An edge that speaks HTTP/3 for `a.example`.
pub(crate) fn edge(origin: &Origin, more: &str) -> Edge {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example", "*.a.example"]);
    let listener = tls_listener(&["a"]).replace(":0\"\n", ":0\"\nhttp3 = true\n");
    let zone = format!("[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\n", origin.url());
    Edge::start_in(folder, &format!("[access_log]\nfile = \"access.log\"\n{listener}{zone}{more}"), &[])
}

#[test]
fn requests_are_served_and_judged() {
    let origin = Origin::echo();
    let edge = edge(&origin, "");
    let mut client = Http3::connect(edge.proxy[0], "a.example").unwrap();
    let answer = client.get("a.example", "/page?x=1").unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(origin.last().path(), "/page?x=1");
    assert_eq!(origin.last().header("x-forwarded-proto"), Some("https"));
    assert_eq!(origin.last().header("host"), Some("a.example"));
    assert_eq!(origin.last().header("transfer-encoding"), None, "a GET has no body");
    // A body passes both ways whole, whatever its length and however it comes.
    for size in [1, 4_095, 4_097, 65_537, 3_000_000] {
        let body: Vec<u8> = (0..size).map(|n: u32| n.to_be_bytes()[3]).collect();
        let head =
            || http::Request::post("https://a.example/").header("content-type", "application/octet-stream");
        for head in [head(), head().header("content-length", size)] {
            let answer = client.ask(head.body(()).unwrap(), &body).unwrap();
            assert_eq!((answer.status, answer.body == body), (200, true), "{size} bytes");
        }
        let pieces = body.chunks(1.max(body.len() / 40)).map(Bytes::copy_from_slice).collect();
        let answer = client.ask_in_pieces(head().body(()).unwrap(), pieces).unwrap();
        assert_eq!((answer.status, answer.body == body), (200, true), "{size} bytes in pieces");
    }
    // Who asks whether to send a body is told.
    let head = http::Request::put("https://a.example/").header("expect", "100-continue");
    assert_eq!(client.ask(head.body(()).unwrap(), b"awaited").unwrap().text(), "awaited");
    // Attacks are refused, in the target and in the body.
    assert_eq!(client.get("a.example", "/?q=%3Cscript%3Ealert(1)%3C/script%3E").unwrap().status, 403);
    let head =
        http::Request::post("https://a.example/").header("content-type", "application/x-www-form-urlencoded");
    let attack = b"q=1%27%20UNION%20SELECT%20password%20FROM%20users--";
    assert_eq!(client.ask(head.body(()).unwrap(), attack).unwrap().status, 403);
    assert_eq!(client.get("b.example", "/").unwrap().status, 404);
    // Crumbs of cookies are one field, as rules and origins know it.
    let head = get("a.example", "/");
    let (mut parts, ()) = head.into_parts();
    parts.headers.append("cookie", "a=1".parse().unwrap());
    parts.headers.append("cookie", "b=2".parse().unwrap());
    assert_eq!(client.ask(http::Request::from_parts(parts, ()), b"").unwrap().status, 200);
    assert_eq!(origin.last().header("cookie"), Some("a=1; b=2"));
    let head = http::Request::head("https://a.example/").body(()).unwrap();
    let answer = client.ask(head, b"").unwrap();
    assert_eq!((answer.status, answer.body.len()), (200, 0));
    let answers = client.ask_at_once((0..200).map(|n| get("a.example", &format!("/{n}"))).collect());
    assert!(answers.iter().all(|answer| answer.as_ref().is_some_and(|answer| answer.status == 200)));
    let logged = std::fs::read_to_string(edge.folder.path().join("access.log")).unwrap();
    assert!(logged.contains("HTTP/3.0"), "{logged}");
}

#[test]
fn clients_are_told_and_names_that_quic_cannot_serve_stay_on_tcp() {
    let origin = Origin::fixed("text/plain", "page");
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example", "b.example", "c.example", "d.example", "e.example"]);
    let listener = tls_listener(&["a"]).replace(":0\"\n", ":0\"\nhttp3 = true\nhttp3_port = 443\n");
    let edge = Edge::start_in(folder, &format!("{listener}{}", crate::certificates::admin()), &[]);
    let api = Api::new(&edge, crate::api::TOKEN);
    for name in ["a", "b", "c", "d", "e"] {
        api.post("/zones", &json!({"name": format!("{name}.example"), "origins": [origin.url()]}));
    }
    let over_tls = |name: &str| {
        let port = edge.proxy[0].port();
        let output = Command::new("curl")
            .args(["-sk", "-D", "-", "-o", "/dev/null", "--resolve", &format!("{name}:{port}:127.0.0.1")])
            .arg(format!("https://{name}:{port}/"))
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).to_ascii_lowercase()
    };
    wait_for("HTTP/3", || over_tls("a.example").contains("alt-svc: h3=\":443\"; ma=86400\r\n").then_some(()));
    let set = |zone: &str, id: &str, value: serde_json::Value| {
        api.result("PATCH", &format!("/zones/{zone}.example/settings/{id}"), &json!({"value": value}));
    };
    set("b", "tls_1_3", json!("off"));
    set("c", "http2", json!("off"));
    let ca = std::fs::read_to_string(edge.folder.path().join("a.pem")).unwrap();
    set("d", "client_certificates", json!({"ca": ca, "required": false}));
    set("e", "http3", json!("off"));
    for name in ["b.example", "c.example", "d.example", "e.example"] {
        assert!(Http3::connect(edge.proxy[0], name).is_err(), "{name}");
        let told = over_tls(name);
        assert!(told.contains("200") && !told.contains("alt-svc"), "{name}: {told}");
    }
    let mut client = Http3::connect(edge.proxy[0], "a.example").unwrap();
    assert_eq!(client.get("a.example", "/").unwrap().status, 200);
    // What is asked for over a connection of another name is judged by the settings of its own.
    set("d", "client_certificates", json!({"ca": ca, "required": true}));
    assert_eq!(client.get("d.example", "/").unwrap().status, 403);
    // Without the setting nothing is said, and nobody listens.
    let plain = Edge::start_in(
        {
            let folder = tempfile::tempdir().unwrap();
            certificate(folder.path(), "a", &["a.example"]);
            folder
        },
        &format!(
            "{}[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n",
            tls_listener(&["a"]),
            origin.url()
        ),
        &[],
    );
    assert!(UdpSocket::bind(plain.proxy[0]).is_ok());
}

#[test]
fn a_listener_that_cannot_speak_http3_says_why() {
    for (listener, words) in [
        ("http3 = true\n", "`http3` needs `certificates` or `tls = true`"),
        (
            "tls = true\nprotocol = \"dns\"\nhttp3 = true\n",
            "`http3` is for listeners with `protocol = \"http\"`",
        ),
        (
            "tls = true\nproxy_protocol_from = [\"10.0.0.0/8\"]\nhttp3 = true\n",
            "`http3` and `proxy_protocol_from` exclude each other",
        ),
        ("tls = true\nhttp3_port = 443\n", "`http3_port` needs `http3 = true`"),
        ("tls = true\nhttp3 = true\nhttp3_port = 0\n", "expected a port from 1 to 65535"),
    ] {
        let refused = refused_by_check(&format!("[[listeners]]\naddress = \"127.0.0.1:0\"\n{listener}"));
        assert!(refused.contains(words), "{refused}");
    }
}

#[test]
fn a_browser_comes_by_http3() {
    let page = "<!doctype html><title>page</title><body>here<script>fetch('/upload', {method: 'POST', body: 'x'.repeat(200000)})\
        .then(answer => answer.text()).then(text => document.body.append(' ' + text.length))</script>";
    let origin = Origin::start(move |request, stream| {
        let (kind, body) = match request.path() {
            "/upload" => ("text/plain", request.body.clone()),
            _ => ("text/html", page.as_bytes().to_vec()),
        };
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(&[head.as_bytes(), &body].concat()).is_ok()
    });
    let edge = edge(&origin, "");
    let hash = Command::new("sh")
        .current_dir(edge.folder.path())
        .args(["-c", "openssl x509 -in a.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64"])
        .output()
        .unwrap();
    let hash = String::from_utf8(hash.stdout).unwrap();
    let port = edge.proxy[0].port();
    let mut browser = Browser::start_with(&[
        &format!("--ignore-certificate-errors-spki-list={}", hash.trim()),
        &format!("--origin-to-force-quic-on=a.example:{port}"),
    ]);
    browser.open(&format!("https://a.example:{port}/"));
    browser.wait_for_text("here 200000");
    for kind in ["navigation", "resource"] {
        let protocol = browser.value(&format!("performance.getEntriesByType('{kind}')[0].nextHopProtocol"));
        assert_eq!(protocol, "h3", "{kind}");
    }
}

#[test]
fn a_stop_finishes_what_is_under_way() {
    let (goes_on, waits) = std::sync::mpsc::channel::<()>();
    let waits = Mutex::new(waits);
    let origin = Origin::start(move |request, stream| {
        if request.path() == "/slow" {
            waits.lock().unwrap().recv().unwrap();
        }
        let body = vec![b'x'; 300_000];
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(&[head.as_bytes(), &body].concat()).is_ok()
    });
    let mut edge = edge(&origin, "");
    let mut client = Http3::connect(edge.proxy[0], "a.example").unwrap();
    assert_eq!(client.get("a.example", "/").unwrap().status, 200);
    let slow = client.spawn(get("a.example", "/slow"));
    wait_for("the request", || origin.begun().iter().any(|line| line.contains("/slow")).then_some(()));
    edge.signal("TERM");
    // Nobody new is let in, and nobody is left without an answer.
    wait_for("the end of accepting", || TcpStream::connect(edge.proxy[0]).is_err().then_some(()));
    assert!(Http3::connect(edge.proxy[0], "a.example").is_err());
    goes_on.send(()).unwrap();
    let answer: Option<Response> = client.block_on(slow).unwrap();
    assert_eq!(answer.unwrap().body.len(), 300_000);
    assert!(edge.wait_for_exit().success());
}

#[test]
fn clients_of_a_killed_process_hear_of_it_from_the_next() {
    let origin = Origin::fixed("text/plain", "fine");
    let port = free_port();
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example"]);
    let listener = tls_listener(&["a"]).replace(":0\"\n", &format!(":{port}\"\nhttp3 = true\n"));
    let conf = format!("{listener}[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n", origin.url());
    let mut old = Edge::start_in(folder, &conf, &[]);
    let mut client = Http3::connect(old.proxy[0], "a.example").unwrap();
    assert_eq!(client.get("a.example", "/").unwrap().text(), "fine");
    old.signal("KILL");
    old.wait_for_exit();
    let new = old.again();
    let mut other = wait_for("HTTP/3", || Http3::connect(new.proxy[0], "a.example").ok());
    // The next packet is answered with a reset.
    assert!(client.get("a.example", "/").is_none());
    let reason = client.quic.close_reason();
    assert!(matches!(reason, Some(quinn::ConnectionError::Reset)), "{reason:?}");
    assert_eq!(other.get("a.example", "/").unwrap().text(), "fine");
}

#[test]
fn a_new_process_takes_the_port_when_the_old_one_has_ended() {
    let origin = Origin::fixed("text/plain", "fine");
    let (port, admin) = (free_port(), free_port());
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example"]);
    let listener = tls_listener(&["a"]).replace(":0\"\n", &format!(":{port}\"\nhttp3 = true\n"));
    let conf = format!(
        "graceful_stop = \"1s\"\n{listener}[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[admin]\naddress = \"127.0.0.1:{admin}\"\n",
        origin.url()
    );
    let mut old = Edge::start_in(folder, &conf, &[]);
    let mut client = Http3::connect(old.proxy[0], "a.example").unwrap();
    assert_eq!(client.get("a.example", "/").unwrap().text(), "fine");
    let folder = tempfile::tempdir_in(old.folder.path()).unwrap();
    certificate(folder.path(), "a", &["a.example"]);
    let state = old.folder.path().join("state");
    std::os::unix::fs::symlink(&state, folder.path().join("state")).unwrap();
    let pid = old.pid();
    let quit = std::thread::spawn(move || {
        wait_for("the new process", || state.join("run/upgrade.sock").exists().then_some(()));
        assert!(Command::new("kill").args(["-QUIT", &pid.to_string()]).status().unwrap().success());
    });
    let new = Edge::start_in(folder, &conf, &["--upgrade"]);
    quit.join().unwrap();
    assert!(old.wait_for_exit().success());
    let mut client = wait_for("HTTP/3", || Http3::connect(new.proxy[0], "a.example").ok());
    assert_eq!(client.get("a.example", "/").unwrap().text(), "fine");
    assert!(!new.log_text().contains("service_failed"), "{}", new.log_text());
}
