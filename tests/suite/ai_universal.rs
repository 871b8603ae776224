//! The universal endpoint over a WebSocket.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

use crate::support::{Client, Edge, Origin, run_cli, run_for_gateway, wait_for};

const ANSWER: &str = r#"{"model":"m-1","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10}}"#;
const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream\r\nTransfer-Encoding: chunked\r\n\r\n";

fn conf(more: &str, provider: &Origin) -> String {
    format!(
        "gateway_hosts = [\"gw.example\"]\n{more}\n[[gateways]]\naccount = \"acme\"\nid = \"main\"\nauthentication = false\n[[providers]]\nslug = \"openai\"\nbase_url = \"{}\"\n",
        provider.url()
    )
}

fn connect(edge: &Edge, fields: &[(&'static str, &str)]) -> tungstenite::Result<WebSocket<TcpStream>> {
    let stream = TcpStream::connect(edge.proxy[0]).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut request = "ws://gw.example/v1/acme/main/".into_client_request().unwrap();
    for (name, value) in fields {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    match tungstenite::client(request, stream) {
        Ok((socket, _)) => Ok(socket),
        Err(tungstenite::HandshakeError::Failure(error)) => Err(error),
        Err(tungstenite::HandshakeError::Interrupted(_)) => unreachable!("the stream blocks"),
    }
}

fn ask(socket: &mut WebSocket<TcpStream>, event_id: &str, endpoint: &str) {
    let headers = json!({"authorization": "Bearer provider", "x-step": "one"});
    let request = json!({"eventId": event_id, "provider": "openai", "endpoint": endpoint, "headers": headers,
        "query": {"model": "m-1"}});
    let message = json!({"type": "universal.create", "request": request});
    socket.send(Message::text(message.to_string())).unwrap();
}

fn next(socket: &mut WebSocket<TcpStream>) -> Value {
    loop {
        if let Message::Text(text) = socket.read().unwrap() {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

#[test]
fn questions_are_answered_as_over_http() {
    let provider = Origin::fixed("application/json", ANSWER);
    let mut edge = Edge::start(&conf("", &provider));
    let mut socket = connect(&edge, &[("svc-aig-metadata", r#"{"team":"a"}"#)]).unwrap();
    for event_id in ["first", "second"] {
        ask(&mut socket, event_id, "v1/chat/completions");
        let answer = next(&mut socket);
        let metadata = &answer["metadata"];
        assert_eq!(
            (&answer["type"], &answer["response"]),
            (&json!("universal.created"), &serde_json::from_str(ANSWER).unwrap())
        );
        let known =
            [&metadata["eventId"], &metadata["step"], &metadata["contentType"], &metadata["statusCode"]];
        assert_eq!(known, [&json!(event_id), &json!("0"), &json!("application/json"), &json!(200)]);
        let id = metadata["logId"].as_str().unwrap().to_owned();
        let row = edge.wait_for_event("ai_call", move |row| row["id"] == id.as_str());
        let said = [&row["event_id"], &row["request_type"], &row["tokens_in"], &row["metadata"]["team"]];
        assert_eq!(said, [&json!(event_id), &json!("universal"), &json!(19), &json!("a")]);
    }
    let asked = provider.last();
    assert_eq!(asked.body, br#"{"model":"m-1"}"#);
    assert_eq!(
        (asked.header("authorization"), asked.header("x-step")),
        (Some("Bearer provider"), Some("one"))
    );
    assert!(asked.headers.iter().all(|(name, _)| !name.starts_with("svc-") && !name.contains("websocket")));

    // A question that is none loses nothing but itself.
    for bad in ["", "{}", "[]", r#"{"type":"universal.create"}"#, r#"{"type":"x","request":{}}"#] {
        socket.send(Message::text(bad)).unwrap();
        let refused = next(&mut socket);
        assert_eq!(
            (&refused["type"], &refused["error"]["code"]),
            (&json!("universal.error"), &json!(2000)),
            "{bad}"
        );
    }
    socket.send(Message::binary(r#"{"type":"universal.create","request":{"eventId":"e","provider":"nobody","endpoint":"x","query":{}}}"#)).unwrap();
    let refused = next(&mut socket);
    assert_eq!(
        (&refused["metadata"]["statusCode"], &refused["response"]["internalCode"]),
        (&json!(400), &json!(2008))
    );
    socket.close(None).unwrap();
    while socket.read().is_ok() {}
    let seen = edge.wait_for_event("request", |event| event["EdgeResponseStatus"] == 101);
    assert_eq!(seen["ClientRequestMethod"], "GET");
}

#[test]
fn streams_come_event_by_event_beside_each_other() {
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let may_go_on = Mutex::new(may_go_on);
    let provider = Origin::start(move |request, stream| {
        let mut send = |text: &str| stream.write_all(text.as_bytes()).and_then(|()| stream.flush()).is_ok();
        match request.path() {
            path if path.ends_with("/quick") => {
                send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nquick")
            }
            path if path.ends_with("/endless") => {
                let piece = chunk(&"x".repeat(1 << 20));
                send(STREAM_HEAD) && (0..40).all(|_| send(&piece))
            }
            // Ends without its last chunk.
            path if path.ends_with("/cut") => {
                assert!(send(STREAM_HEAD) && send(&chunk("data: {\"n\":1}\n\n")));
                false
            }
            _ => {
                send(STREAM_HEAD)
                    && send(&chunk("event: x\ndata: {\"n\":"))
                    && send(&chunk("1}\n\n"))
                    && may_go_on.lock().unwrap().recv().is_ok()
                    && send(&chunk("data: two\n\ndata: [DONE]\n\n"))
                    && send("0\r\n\r\n")
            }
        }
    });
    let edge = Edge::start(&conf("", &provider));
    let mut socket = connect(&edge, &[]).unwrap();
    ask(&mut socket, "slow", "stream");
    let begun = next(&mut socket);
    assert_eq!(
        (&begun["type"], &begun["metadata"]["contentType"]),
        (&json!("universal.created"), &json!("Text/Event-Stream"))
    );
    assert!(begun.get("response").is_none());
    let event = |event_id: &str, response: Value| json!({"type": "universal.stream", "metadata": {"eventId": event_id}, "response": response});
    assert_eq!(next(&mut socket), event("slow", json!({"n": 1})));
    ask(&mut socket, "quick", "quick");
    let quick = next(&mut socket);
    assert_eq!((&quick["metadata"]["eventId"], &quick["response"]), (&json!("quick"), &json!("quick")));
    go_on.send(()).unwrap();
    assert_eq!(next(&mut socket), event("slow", json!("two")));
    let done = next(&mut socket);
    assert_eq!((&done["type"], &done["metadata"]), (&json!("universal.done"), &begun["metadata"]));

    ask(&mut socket, "endless", "endless");
    assert_eq!(next(&mut socket)["type"], "universal.created");
    let endless = next(&mut socket);
    assert!(endless["error"]["message"].as_str().unwrap().contains("too long"), "{endless}");
    ask(&mut socket, "cut", "cut");
    assert_eq!(next(&mut socket)["type"], "universal.created");
    assert_eq!(next(&mut socket), event("cut", json!({"n": 1})));
    let cut = next(&mut socket);
    assert_eq!((&cut["type"], &cut["metadata"]["eventId"]), (&json!("universal.error"), &json!("cut")));
}

#[test]
fn tokens_are_asked_of_the_connection_and_of_each_question() {
    let provider = Origin::fixed("application/json", ANSWER);
    let edge = Edge::start(&conf("", &provider).replace("authentication = false", ""));
    let refused = |fields: &[(&'static str, &str)]| match connect(&edge, fields) {
        Err(tungstenite::Error::Http(response)) => response.status().as_u16(),
        other => panic!("{:?}", other.map(|_| ())),
    };
    assert_eq!((refused(&[]), refused(&[("svc-aig-authorization", "Bearer made-up")])), (401, 401));
    let path = edge.folder.path().join("p.toml").display().to_string();
    let made = run_for_gateway(edge.folder.path(), &["token", "create"], &[], b"");
    let token = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let protocol = format!("svc-aig-authorization.{token}");
    let mut socket =
        wait_for("the token to hold", || connect(&edge, &[("sec-websocket-protocol", &protocol)]).ok());
    ask(&mut socket, "e", "x");
    assert_eq!(next(&mut socket)["metadata"]["statusCode"], 200);
    assert!(
        provider
            .requests()
            .iter()
            .all(|request| request.headers.iter().all(|(_, value)| !value.contains(&token)))
    );
    // A question that is refused before it is read whole is answered all the same.
    let long = json!({"type": "universal.create", "request": {"eventId": "long", "provider": "nobody", "endpoint": "x",
        "query": "x".repeat(1 << 20)}});
    socket.send(Message::text(long.to_string())).unwrap();
    assert_eq!(next(&mut socket)["response"]["internalCode"], 2008);
    let listed = run_for_gateway(edge.folder.path(), &["token", "list"], &[], b"");
    let listed = String::from_utf8(listed.stdout).unwrap();
    let id = listed.split(' ').next().unwrap();
    assert!(run_cli(&["token", "revoke", id, "--conf", &path], b"").status.success());
    wait_for("the token to be revoked", || {
        ask(&mut socket, "late", "x");
        (next(&mut socket)["metadata"]["statusCode"] == 401).then_some(())
    });
    socket.send(Message::text(long.to_string())).unwrap();
    assert_eq!(next(&mut socket)["metadata"]["statusCode"], 401);
}

#[test]
fn the_end_of_the_connection_cancels_what_is_under_way() {
    let (left, has_left) = mpsc::channel();
    let left = Mutex::new(left);
    let provider = Origin::start(move |_, stream| {
        let begun = stream
            .write_all(STREAM_HEAD.as_bytes())
            .and_then(|()| stream.write_all(chunk("data: 1\n\n").as_bytes()));
        let read = stream.read(&mut [0; 16]);
        left.lock().unwrap().send(begun.is_ok() && !matches!(read, Ok(1..))).unwrap();
        false
    });
    let mut edge = Edge::start(&conf("", &provider));
    let mut socket = connect(&edge, &[]).unwrap();
    ask(&mut socket, "e", "x");
    assert_eq!(
        (next(&mut socket)["type"].clone(), next(&mut socket)["type"].clone()),
        (json!("universal.created"), json!("universal.stream"))
    );
    drop(socket);
    assert!(has_left.recv_timeout(Duration::from_secs(20)).unwrap());
    let row = edge.wait_for_event("ai_call", |_| true);
    assert_eq!((&row["success"], &row["error"]), (&json!(false), &json!("cancelled")));
}

#[test]
fn what_is_no_web_socket_is_refused_or_closed() {
    let provider = Origin::fixed("application/json", ANSWER);
    let limits = "[limits]\ninspected_body = \"4KiB\"\nidle_timeout = \"1s\"\n";
    let edge = Edge::start(&format!("{}{limits}", conf("", &provider)));
    for fields in [
        "",
        "Sec-WebSocket-Version: 13\r\n",
        "Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
    ] {
        let request = format!(
            "GET /v1/acme/main HTTP/1.1\r\nHost: gw.example\r\nConnection: upgrade\r\nUpgrade: websocket\r\n{fields}\r\n"
        );
        let refused = Client::once(edge.proxy[0], request);
        assert_eq!((refused.status, refused.header("svc-aig-error")), (400, Some("2000")), "{fields}");
    }
    let close_code = |frame: &[u8]| {
        let mut socket = connect(&edge, &[]).unwrap();
        socket.get_mut().write_all(frame).unwrap();
        loop {
            match socket.read() {
                Ok(Message::Close(frame)) => return frame.map(|frame| u16::from(frame.code)),
                Ok(_) => {}
                Err(error) => panic!("{error}"),
            }
        }
    };
    // Without a mask; reserved bits; longer than may be; text that is none; bytes that are no text.
    assert_eq!(close_code(&[0x81, 0x01, b'x']), Some(1002));
    assert_eq!(close_code(&[0xF1, 0x81, 0, 0, 0, 0, b'x']), Some(1002));
    assert_eq!(close_code(&[0x81, 0xFF, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]), Some(1009));
    assert_eq!(close_code(&[0x81, 0x81, 0, 0, 0, 0, 0xFF]), Some(1007));
    assert_eq!(close_code(&[0x82, 0x81, 0, 0, 0, 0, 0xFF]), Some(1003));

    // Who answers to pings may be silent; who does not is gone.
    let mut socket = connect(&edge, &[]).unwrap();
    let pings = (0..3).filter(|_| matches!(socket.read().unwrap(), Message::Ping(_))).count();
    assert_eq!(pings, 3);
    ask(&mut socket, "e", "x");
    assert_eq!(next(&mut socket)["metadata"]["eventId"], "e");
    let mut silent = Vec::new();
    connect(&edge, &[]).unwrap().get_mut().read_to_end(&mut silent).unwrap();
    assert_eq!(silent, [0x89, 0]);
}

#[test]
fn a_server_that_stops_says_so() {
    let provider = Origin::fixed("application/json", ANSWER);
    let mut edge = Edge::start(&conf("", &provider));
    let mut socket = connect(&edge, &[]).unwrap();
    edge.signal("TERM");
    let Message::Close(Some(frame)) = socket.read().unwrap() else { panic!("expected the end") };
    assert_eq!(u16::from(frame.code), 1001);
    assert!(edge.wait_for_exit().success());
}
