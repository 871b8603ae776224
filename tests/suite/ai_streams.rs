//! Streams of providers: kept alive, and their usage withheld.

use std::io::{Read, Write};
use std::sync::{Mutex, mpsc};

use crate::ai_steps::{CHAT_PATH, call, conf, in_turn};
use crate::support::{Edge, Origin};

/// A stream of a provider, opened by a client that reads it as it comes.
struct OpenStream {
    stream: std::net::TcpStream,
    seen: String,
}

impl OpenStream {
    fn start(edge: &Edge, path: &str) -> Self {
        let mut stream = std::net::TcpStream::connect(edge.proxy[0]).unwrap();
        let request = format!(
            "POST /v1/acme/main{path} HTTP/1.1\r\nHost: gw.example\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        Self { stream, seen: String::new() }
    }

    /// Reads until a text came so often.
    fn until(&mut self, wanted: &str, times: usize) -> &str {
        let mut buffer = [0; 4096];
        while self.seen.matches(wanted).count() < times {
            let read = self.stream.read(&mut buffer).unwrap();
            assert!(read > 0, "{}", self.seen);
            self.seen.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
        }
        &self.seen
    }
}

#[test]
fn a_silent_stream_is_kept_alive_between_events() {
    const BEAT: &str = "\r\n: \n\n\r\n";
    const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n";
    fn chunk(text: &str) -> String {
        format!("{:x}\r\n{text}\r\n", text.len())
    }
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let may_go_on = Mutex::new(may_go_on);
    let provider = Origin::start(move |_, stream| {
        let mut send = |text: &str| stream.write_all(text.as_bytes()).and_then(|()| stream.flush()).is_ok();
        let waited = may_go_on.lock().unwrap();
        // An event, half an event, its other half, the end: each after a word of the client.
        send(HEAD)
            && send(&chunk("data: {\"a\":1}\n\n"))
            && waited.recv().is_ok()
            && send(&chunk("data: {\"usage\":{\"prompt_tokens\":1,"))
            && waited.recv().is_ok()
            && send(&chunk("\"completion_tokens\":2}}\n\n"))
            && send("0\r\n\r\n")
    });
    let (_end, ended) = mpsc::channel::<()>();
    let ended = Mutex::new(ended);
    let silent = Origin::start(move |_, stream| {
        let sent = stream.write_all(HEAD.as_bytes()).and_then(|()| stream.flush()).is_ok();
        sent && ended.lock().unwrap().recv().is_ok()
    });
    let mut edge = Edge::start(&conf("heartbeat = \"50ms\"\n", &[("openai", &provider), ("groq", &silent)]));
    let mut stream = OpenStream::start(&edge, CHAT_PATH);
    stream.until(BEAT, 2);
    go_on.send(()).unwrap();
    stream.until("prompt_tokens", 1);
    // Time goes by: another stream, begun now, gets three.
    OpenStream::start(&edge, "/groq/chat/completions").until(BEAT, 3);
    go_on.send(()).unwrap();
    let (_, body) = stream.until("\r\n0\r\n", 1).split_once("\r\n\r\n").unwrap();
    let (_, rest) = body.split_once("prompt_tokens").unwrap();
    let (within, _) = rest.split_once("completion_tokens").unwrap();
    assert!(!within.contains(": \n\n"), "none within an event: {body}");
    let row = edge.wait_for_event("ai_call", |row| row["provider"] == "openai");
    assert_eq!((&row["tokens_in"], &row["tokens_out"]), (&1.into(), &2.into()));
}

#[test]
fn the_usage_of_a_stream_is_asked_for_and_withheld() {
    let content = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":null}\n\n";
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7}}\n\n";
    let stream = [content, usage, "data: [DONE]\n\n"].concat();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{stream}\r\n0\r\n\r\n",
        stream.len()
    );
    let provider = in_turn(vec![answer]);
    let mut edge = Edge::start(&conf("include_usage = true\n", &[("openai", &provider)]));
    let asked = r#"{"model":"m","stream":true,"stream_options":{"include_usage":true}}"#;
    let silent = r#"{"model":"m","stream":true}"#;
    let edited = r#"{"stream_options":{"include_usage":true},"model":"m","stream":true}"#;
    let without_usage = stream.replace(usage, "");
    for (sent, forwarded, received) in [(silent, edited, &without_usage), (asked, asked, &stream)] {
        let answer = call(&edge, CHAT_PATH, "accept-encoding: gzip\r\n", sent);
        let seen = provider.last();
        assert_eq!((std::str::from_utf8(&seen.body).unwrap(), answer.text()), (forwarded, received.clone()));
        let coding = if sent == silent { "identity" } else { "gzip" };
        assert_eq!(seen.header("accept-encoding"), Some(coding));
    }
    for nth in 1..=2 {
        let row = edge.wait_for_event("ai_call", |_| true);
        let found = (&row["tokens_in"], &row["tokens_out"], row["usage_source"].as_str());
        assert_eq!(found, (&11.into(), &7.into(), Some("provider")), "{nth}");
    }
    // What is no stream is not touched.
    call(&edge, CHAT_PATH, "", r#"{"model":"m"}"#);
    assert_eq!(provider.last().body, br#"{"model":"m"}"#);
}
