//! HTTP/3: the same edge, by QUIC.

use std::io::Write as _;
use std::net::{TcpStream, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;

use crate::listener::tls_listener;
use crate::protocols::free_port;
use crate::support::{
    Api, BareHttp3, Browser, Edge, Http3, Origin, Response, certificate, frame, get, refused_by_check,
    section, wait_for,
};

/// What a client's control stream begins with.
const CONTROL: &[u8] = &[0x00, 0x04, 0x00];
const HEADERS: u8 = 1;
const DATA: u8 = 0;

/// An edge that speaks HTTP/3 for `a.example`.
fn edge(origin: &Origin, more: &str) -> Edge {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example", "*.a.example"]);
    let listener = tls_listener(&["a"]).replace(":0\"\n", ":0\"\nhttp3 = true\n");
    let zone = format!("[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\n", origin.url());
    Edge::start_in(folder, &format!("[access_log]\nfile = \"access.log\"\n{listener}{zone}{more}"), &[])
}

/// The field section of a GET, with more fields.
fn get_section(more: &[(&str, &str)]) -> Vec<u8> {
    let line = [(":method", "GET"), (":scheme", "https"), (":authority", "a.example"), (":path", "/")];
    section(&[&line[..], more].concat())
}

/// The status that a response's stream begins with, as one field of the static table or a literal of it.
fn status(stream: &[u8]) -> String {
    let known = |index: u8| match index {
        24 => "103",
        25 => "200",
        27 => "404",
        67 => "400",
        68 => "403",
        _ => "another",
    };
    // A frame's head, then the two bytes of a section's prefix.
    let length_bytes = 1 << (stream[1] >> 6);
    let field = &stream[1 + length_bytes + 2..];
    match field[0] {
        byte if byte >> 6 == 0b11 => {
            let index = if byte == 0xff { 63 + field[1] } else { byte & 0x3f };
            known(index).to_owned()
        }
        // `:status` by its name, index 24 behind four bits.
        0x5f => String::from_utf8_lossy(&field[3..6]).into_owned(),
        byte => panic!("{byte:x}"),
    }
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
fn heads_that_are_malformed_are_refused() {
    let origin = Origin::echo();
    let mut edge = edge(&origin, "[limits]\nheader_section = \"4KiB\"\nheader_fields = 20\n");
    let bare = BareHttp3::connect(edge.proxy[0], "a.example");
    let _control = bare.send_alone(CONTROL);
    let line = |without: &str, more: &[(&'static str, &'static str)]| {
        let fields: Vec<_> =
            [(":method", "GET"), (":scheme", "https"), (":authority", "a.example"), (":path", "/")]
                .into_iter()
                .filter(|(name, _)| *name != without)
                .chain(more.iter().copied())
                .collect();
        section(&fields)
    };
    let long: &'static str = "x".repeat(20_000).leak();
    let quite_long: &'static str = "x".repeat(4_100).leak();
    let many: Vec<(&str, &str)> = vec![("a", "b"); 25];
    let cases: &[(&str, Vec<u8>, &str, &str)] = &[
        ("an upper-case name", line("", &[("Accept", "x")]), "400", "bad_header_field"),
        ("a line end", line("", &[("a", "x\r\nb: c")]), "400", "bad_header_field"),
        ("a field of connections", line("", &[("connection", "close")]), "400", "bad_header_field"),
        ("an upgrade", line("", &[("upgrade", "websocket")]), "400", "bad_header_field"),
        ("chunks", line("", &[("transfer-encoding", "chunked")]), "400", "bad_transfer_encoding"),
        (
            "two lengths",
            line("", &[("content-length", "0"), ("content-length", "0")]),
            "400",
            "repeated_content_length",
        ),
        ("no path", line(":path", &[]), "400", "bad_request_line"),
        ("two paths", line("", &[(":path", "/b")]), "400", "bad_request_line"),
        ("a path with a blank", line(":path", &[(":path", "/a b")]), "400", "bad_request_line"),
        ("an absolute path", line(":path", &[(":path", "https://b.example/")]), "400", "bad_request_line"),
        ("a path that is none", line(":path", &[(":path", "a")]), "400", "bad_request_line"),
        ("no host", line(":authority", &[]), "400", "missing_host"),
        ("two hosts", line("", &[("host", "b.example")]), "400", "bad_host"),
        (
            "a user before the host",
            line(":authority", &[(":authority", "user@a.example")]),
            "400",
            "bad_host",
        ),
        (
            "a host twice",
            line(":authority", &[("host", "a.example"), ("host", "b.example")]),
            "400",
            "bad_host",
        ),
        ("a method that is none", line(":method", &[(":method", "get")]), "400", "bad_method"),
        ("trace", line(":method", &[(":method", "TRACE")]), "405", "method_not_allowed"),
        ("many fields", line("", &many), "431", "too_many_header_fields"),
        ("a long section", line("", &[("a", quite_long)]), "431", "header_section_too_long"),
        ("a longer one", line("", &[("a", long)]), "431", "header_section_too_long"),
    ];
    for (name, section, expected, reason) in cases {
        let answer = bare.exchange(&frame(HEADERS, section));
        assert_eq!(status(&answer.unwrap()), *expected, "{name}");
        edge.wait_for_event("request_refused", |event| event["reason"] == *reason);
    }
    assert!(origin.requests().is_empty());
    // Connections are not taken down with their requests.
    assert_eq!(status(&bare.exchange(&frame(HEADERS, &line("", &[]))).unwrap()), "200");
    // CONNECT is refused by the framework below.
    let connect = section(&[(":method", "CONNECT"), (":authority", "a.example:1")]);
    assert_ne!(status(&bare.exchange(&frame(HEADERS, &connect)).unwrap()), "200");
    assert_eq!(origin.requests().len(), 1);
}

#[test]
fn a_body_of_another_length_than_it_says_is_no_request() {
    let origin = Origin::echo();
    let edge = edge(&origin, "");
    let bare = BareHttp3::connect(edge.proxy[0], "a.example");
    let _control = bare.send_alone(CONTROL);
    let post = |length: &str| {
        let line = [(":method", "POST"), (":scheme", "https"), (":authority", "a.example"), (":path", "/")];
        frame(
            HEADERS,
            &section(&[&line[..], &[("content-length", length), ("content-type", "text/plain")]].concat()),
        )
    };
    for (name, stream) in [
        ("shorter", [post("5"), frame(DATA, b"abcd")].concat()),
        ("none", post("5")),
        ("longer", [post("3"), frame(DATA, b"abcd")].concat()),
        ("longer in frames", [post("5"), frame(DATA, b"abcd"), frame(DATA, b"ef")].concat()),
        ("some where there is none", [post("0"), frame(DATA, b"a")].concat()),
    ] {
        let answer = bare.exchange(&stream);
        assert_eq!(answer.map(|answer| status(&answer)).ok().as_deref(), Some("400"), "{name}");
    }
    let heard = |origin: &Origin| origin.requests().iter().filter(|request| !request.body.is_empty()).count();
    assert_eq!(heard(&origin), 0);
    // Frames that nobody knows, empty ones and trailers are no part of a body.
    let stream = [
        frame(0x21, b"grease"),
        post("4"),
        frame(DATA, b""),
        frame(DATA, b"ab"),
        frame(0x21, b"more"),
        frame(DATA, b"cd"),
        frame(HEADERS, &section(&[("x-trailer", "1")])),
        frame(0x21, b""),
    ];
    assert_eq!(status(&bare.exchange(&stream.concat()).unwrap()), "200");
    assert_eq!(origin.last().body, b"abcd");
}

#[test]
fn streams_that_are_not_sound_end_their_connection() {
    let origin = Origin::echo();
    let edge = edge(&origin, "");
    let head = frame(HEADERS, &get_section(&[]));
    // What a client sends in its direction alone, what on a request's stream, and what the connection ends with.
    type Case<'c> = (&'c str, Vec<&'c [u8]>, Vec<u8>, u64);
    let cases: &[Case<'_>] = &[
        ("a frame before settings", vec![&[0x00, 0x07, 0x01, 0x00]], vec![], 0x10a),
        ("settings twice", vec![&[0x00, 0x04, 0x00, 0x04, 0x00]], vec![], 0x105),
        ("a setting of HTTP/2", vec![&[0x00, 0x04, 0x02, 0x03, 0x01]], vec![], 0x109),
        ("two control streams", vec![CONTROL, CONTROL], vec![], 0x103),
        ("a push", vec![CONTROL, &[0x01, 0x00]], vec![], 0x103),
        ("an entry of a table", vec![CONTROL, &[0x02, 0xc0, 0x01, b'x']], vec![], 0x201),
        ("a table that was not offered", vec![CONTROL, &[0x02, 0x3f, 0xe1, 0x1f]], vec![], 0x201),
        ("what was never sent is confirmed", vec![CONTROL, &[0x03, 0x80]], vec![], 0x202),
        ("a body before its head", vec![CONTROL], [frame(DATA, b"x"), head.clone()].concat(), 0x105),
        ("settings on a request's stream", vec![CONTROL], [frame(4, b""), head.clone()].concat(), 0x105),
        ("a frame of HTTP/2", vec![CONTROL], frame(8, b"1234"), 0x105),
        ("half a frame", vec![CONTROL], head[..head.len() - 1].to_vec(), 0x106),
        ("a head of a table's entries", vec![CONTROL], frame(HEADERS, &[2, 0, 0x80]), 0x200),
        ("a head that is none", vec![CONTROL], frame(HEADERS, &[0, 0, 0x51, 0x7f, 0xff]), 0x200),
    ];
    for (name, alone, request, expected) in cases {
        let bare = BareHttp3::connect(edge.proxy[0], "a.example");
        let _streams: Vec<_> = alone.iter().map(|bytes| bare.send_alone(bytes)).collect();
        if !request.is_empty() {
            assert!(bare.exchange(request).is_err(), "{name}");
        }
        assert_eq!(bare.closed_with(), *expected, "{name}");
    }
    // The end of a stream that must not end.
    let bare = BareHttp3::connect(edge.proxy[0], "a.example");
    bare.send_alone(CONTROL).finish().unwrap();
    assert_eq!(bare.closed_with(), 0x104);
    // What may be sent, and means nothing.
    let bare = BareHttp3::connect(edge.proxy[0], "a.example");
    let mut alone =
        vec![bare.send_alone(CONTROL), bare.send_alone(&[0x02, 0x20]), bare.send_alone(&[0x03, 0x44])];
    alone.extend((0..10).map(|_| bare.send_alone(&[0x21, 0x00])));
    assert_eq!(status(&bare.exchange(&head).unwrap()), "200");
    // A stream without a head is no request.
    assert!(bare.exchange(&frame(0x21, b"x")).is_err());
    assert_eq!(status(&bare.exchange(&head).unwrap()), "200");
    assert!(origin.requests().iter().all(|request| request.path() == "/"));
}

#[test]
fn clients_that_send_little_or_nothing_are_let_go() {
    let origin = Origin::echo();
    let edge = edge(
        &origin,
        "[limits]\nheader_deadline = \"1500ms\"\nidle_timeout = \"2s\"\nconnections_per_address = 3\n",
    );
    // A head that never ends, with frames that keep the stream busy.
    let bare = BareHttp3::connect(edge.proxy[0], "a.example");
    let _control = bare.send_alone(CONTROL);
    let ended = bare.block_on(async {
        let (mut send, mut receive) = bare.quic.open_bi().await.unwrap();
        let dripped = async {
            loop {
                if send.write_all(&frame(0x21, b"x")).await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let (_, ended) = tokio::join!(dripped, receive.read_to_end(100));
        ended
    });
    assert!(ended.is_err());
    assert_eq!(bare.closed_with(), 0x10d);
    // A connection that asks for nothing, though it is kept busy.
    let bare = BareHttp3::connect(edge.proxy[0], "a.example");
    let _control = bare.send_alone(CONTROL);
    let pinged = bare.block_on(async {
        loop {
            let mut stream = match bare.quic.open_uni().await {
                Ok(stream) => stream,
                Err(error) => return error,
            };
            let _ = stream.write_all(&[0x21]).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    assert!(pinged.to_string().contains("closed"), "{pinged}");
    edge.wait_for_metric("portcullis_connections_ended_total{outcome=\"header_timeout\"}", 1.0);
    // No more connections than one address may have.
    let clients: Vec<_> = (0..3).map(|_| BareHttp3::connect(edge.proxy[0], "a.example")).collect();
    let one_more = BareHttp3::connect(edge.proxy[0], "a.example");
    assert_eq!(one_more.closed_with(), 0x107);
    drop(clients);
    // A body that stops.
    let bare = wait_for("a free connection", || {
        let bare = BareHttp3::connect(edge.proxy[0], "a.example");
        bare.block_on(async { tokio::time::sleep(Duration::from_millis(20)).await });
        bare.quic.close_reason().is_none().then_some(bare)
    });
    let answer = bare.block_on(async {
        let (mut send, mut receive) = bare.quic.open_bi().await.unwrap();
        let line = [(":method", "POST"), (":scheme", "https"), (":authority", "a.example"), (":path", "/")];
        let head = frame(HEADERS, &section(&[&line[..], &[("content-length", "9")]].concat()));
        send.write_all(&[head, frame(DATA, b"1234")].concat()).await.unwrap();
        receive.read_to_end(10_000).await.unwrap()
    });
    assert_eq!(status(&answer), "408");
}

#[test]
fn what_breaks_off_does_not_look_whole() {
    let (goes_on, waits) = std::sync::mpsc::channel::<()>();
    let (waits, is_let_go) = (Mutex::new(waits), Arc::new(AtomicBool::new(false)));
    let lets_go = Arc::clone(&is_let_go);
    let origin = Origin::start(move |request, stream| match request.path() {
        "/half" => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf");
            false
        }
        "/chunks" => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n");
            false
        }
        "/hints" => {
            let hints = "HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n";
            stream.write_all(format!("{hints}HTTP/1.1 204 No Content\r\n\r\n").as_bytes()).is_ok()
        }
        "/stream" => {
            let mut ok = stream
                    .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
                    .is_ok();
            while ok && waits.lock().unwrap().recv().is_ok() {
                ok = stream.write_all(b"9\r\ndata: x\n\n\r\n").is_ok();
            }
            lets_go.store(true, Ordering::Relaxed);
            false
        }
        _ => stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine").is_ok(),
    });
    let edge = edge(&origin, "");
    let mut client = Http3::connect(edge.proxy[0], "a.example").unwrap();
    for target in ["/half", "/chunks"] {
        assert!(client.get("a.example", target).is_none(), "{target}");
    }
    assert_eq!(client.get("a.example", "/hints").unwrap().status, 204);
    // Events come one by one, and a client that has enough lets the origin go.
    let bare = BareHttp3::connect(edge.proxy[0], "a.example");
    let _control = bare.send_alone(CONTROL);
    bare.block_on(async {
        let (mut send, mut receive) = bare.quic.open_bi().await.unwrap();
        let line =
            [(":method", "GET"), (":scheme", "https"), (":authority", "a.example"), (":path", "/stream")];
        send.write_all(&frame(HEADERS, &section(&line))).await.unwrap();
        send.finish().unwrap();
        let mut read = Vec::new();
        for events in 1..4 {
            goes_on.send(()).unwrap();
            let arrived = |read: &[u8]| read.windows(9).filter(|window| window == b"data: x\n\n").count();
            while arrived(&read) < events {
                read.extend(receive.read_chunk(1_000, true).await.unwrap().unwrap().bytes);
            }
        }
        receive.stop(0x10c_u32.into()).unwrap();
    });
    wait_for("the origin to be let go", || {
        let _ = goes_on.send(());
        is_let_go.load(Ordering::Relaxed).then_some(())
    });
    assert_eq!(client.get("a.example", "/").unwrap().text(), "fine");
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
fn clients_that_take_nothing_are_let_go() {
    let is_let_go = Arc::new(AtomicBool::new(false));
    let lets_go = Arc::clone(&is_let_go);
    let origin = Origin::start(move |_, stream| {
        let piece = vec![b'x'; 100_000];
        let mut ok = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 900000000\r\n\r\n").is_ok();
        while ok {
            ok = stream.write_all(&piece).is_ok();
        }
        lets_go.store(true, Ordering::Relaxed);
        false
    });
    let edge = edge(&origin, "[limits]\nwrite_timeout = \"500ms\"\nheader_deadline = \"1500ms\"\n");
    let bare = BareHttp3::connect(edge.proxy[0], "a.example");
    let _control = bare.send_alone(CONTROL);
    bare.block_on(async {
        let (mut send, _receive) = bare.quic.open_bi().await.unwrap();
        send.write_all(&frame(HEADERS, &get_section(&[]))).await.unwrap();
        send.finish().unwrap();
        while !is_let_go.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    // One that lets the edge open no stream.
    let closed = BareHttp3::connect_without_streams(edge.proxy[0], "a.example").closed_with();
    assert_eq!(closed, 0x103);
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
