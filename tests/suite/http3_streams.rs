//! Streams of HTTP/3 that no sound client sends, and clients that stop half-way.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::http3::edge;
use crate::support::{BareHttp3, Http3, Origin, frame, section, wait_for};

/// What a client's control stream begins with.
const CONTROL: &[u8] = &[0x00, 0x04, 0x00];
const HEADERS: u8 = 1;
const DATA: u8 = 0;

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
