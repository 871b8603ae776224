//! `[gateways.guardrail] stages`: what providers answer is judged by a service before clients hear of it.

use std::io::{Read as _, Write as _};
use std::sync::Mutex;
use std::sync::mpsc;

use serde_json::{Value, json};

use crate::ai_calls::{CHAT, GATEWAY, call, conf, request};
use crate::support::{Client, Edge, Origin, gzip};

const PATH: &str = "openai/v1/chat/completions";
const ASKED: &str = "{ \"model\":\"m-1\",\"messages\":[] }";

/// A service that judges by words in what it is asked.
fn judge() -> Origin {
    Origin::start(|request, stream| {
        let text = String::from_utf8_lossy(&request.body).into_owned();
        let answer = match () {
            () if text.contains("forbidden") => json!({"action": "block", "reason": "not that"}),
            () if text.contains("nonsense") => json!({"action": "perhaps"}),
            () => json!({"action": "allow"}),
        };
        let answer = answer.to_string();
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{answer}", answer.len()).is_ok()
    })
}

fn edge(provider: &Origin, judge: &Origin, settings: &str, more: &str) -> Edge {
    let guardrail = format!(
        "{GATEWAY}{more}[gateways.guardrail]\nurl = \"{}/judge\"\nstages = [\"response\"]\ntimeout = \"2s\"\n{settings}",
        judge.url()
    );
    Edge::start(&conf(provider, &guardrail))
}

fn chat(word: &str) -> String {
    CHAT.replacen('{', &format!("{{ \"note\":\"{word}\","), 1)
}

fn stream_of(words: &[&str]) -> String {
    let events = words.iter().map(|word| format!("data: {{\"choices\":[{{\"delta\":\"{word}\"}}]}}\n\n"));
    events.collect::<String>()
        + "data: {\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\ndata: [DONE]\n\n"
}

/// Answers as the caller wants: by the field `X-Answer`.
fn provider() -> Origin {
    Origin::start(|request, stream| {
        let (status, fields, body) = match request.header("x-answer").unwrap_or("good") {
            "bad" => (200, "Content-Type: application/json\r\n", chat("forbidden").into_bytes()),
            "nonsense" => (200, "Content-Type: application/json\r\n", chat("nonsense").into_bytes()),
            "coded" => {
                (200, "Content-Type: application/json\r\nContent-Encoding: gzip\r\n", gzip(chat("forbidden")))
            }
            "unreadable" => (
                200,
                "Content-Type: application/json\r\nContent-Encoding: lzma\r\n",
                chat("good").into_bytes(),
            ),
            "error" => (418, "Content-Type: text/plain\r\n", b"the forbidden word".to_vec()),
            "long" => (200, "Content-Type: text/plain\r\n", "long ".repeat(20_000).into_bytes()),
            "stream" => (200, "Content-Type: text/event-stream\r\n", stream_of(&["a", "b"]).into_bytes()),
            "bad stream" => {
                (200, "Content-Type: text/event-stream\r\n", stream_of(&["a", "forbidden"]).into_bytes())
            }
            _ => (200, "Content-Type: application/json\r\n", chat("good").into_bytes()),
        };
        let mut answer =
            format!("HTTP/1.1 {status} X\r\n{fields}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
        for piece in body.chunks(1000) {
            answer.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            answer.extend_from_slice(piece);
            answer.extend_from_slice(b"\r\n");
        }
        answer.extend_from_slice(b"0\r\n\r\n");
        stream.write_all(&answer).is_ok()
    })
}

fn wanting(edge: &Edge, answer: &str) -> crate::support::Response {
    call(edge, PATH, &format!("X-Answer: {answer}\r\n"), ASKED)
}

#[test]
fn what_is_allowed_comes_as_the_provider_sent_it() {
    let (provider, judge) = (provider(), judge());
    let mut edge = edge(&provider, &judge, "", "");
    let good = wanting(&edge, "good");
    assert_eq!((good.status, good.text()), (200, chat("good")));
    let asked = judge.requests();
    assert_eq!(asked.len(), 1, "what is asked is not judged here");
    let told: Value = serde_json::from_slice(&asked[0].body).unwrap();
    assert_eq!(
        (&told["stage"], &told["status"], &told["content_type"], &told["body"]["note"], &told["path"]),
        (
            &json!("response"),
            &json!(200),
            &json!("application/json"),
            &json!("good"),
            &json!("/v1/chat/completions")
        )
    );
    let row = edge.wait_for_event("ai_call", |row| row["status_code"] == 200);
    assert_eq!((&row["tokens_in"], &row["tokens_out"]), (&json!(19), &json!(10)), "each counts once: {row}");
    // A stream is judged as the text that it is.
    let streamed = wanting(&edge, "stream");
    assert_eq!((streamed.status, streamed.text()), (200, stream_of(&["a", "b"])));
    let told: Value = serde_json::from_slice(&judge.last().body).unwrap();
    assert_eq!((&told["text"], &told["body"]), (&json!(stream_of(&["a", "b"])), &Value::Null));
    let row = edge.wait_for_event("ai_call", |row| row["tokens_in"] == 3);
    assert_eq!(row["tokens_out"], 4);
}

#[test]
fn no_form_of_an_answer_gets_past_the_guardrail() {
    let (provider, judge) = (provider(), judge());
    let mut edge = edge(&provider, &judge, "", "cache_ttl = \"60s\"\n");
    for kind in ["bad", "coded", "error", "bad stream", "bad"] {
        let answer = wanting(&edge, kind);
        assert_eq!(
            (answer.status, answer.header("svc-aig-error"), answer.header("x-should-retry")),
            (424, Some("2017"), Some("false")),
            "{kind}"
        );
        assert_eq!(answer.header("svc-aig-warning"), Some("not that"));
        assert!(answer.text().contains("Response blocked") && !answer.text().contains("forbidden"), "{kind}");
    }
    assert_eq!(provider.requests().len(), 5, "nothing of them is kept");
    // The provider was asked, and its work counts.
    let row = edge.wait_for_event("ai_call", |row| row["status_code"] == 424);
    assert_eq!((&row["tokens_in"], &row["error"]), (&json!(19), &json!("response_blocked")), "{row}");
    edge.wait_for_event("ai_call", |row| row["status_code"] == 424 && row["tokens_in"] == 3);
    // What cannot be judged does not pass: a coding that cannot be undone, an answer of nonsense.
    for kind in ["unreadable", "nonsense"] {
        let answer = wanting(&edge, kind);
        assert_eq!((answer.status, answer.header("svc-aig-error")), (503, Some("7013")), "{kind}");
    }
    // By the compatible endpoint, as a universal request, and what is read.
    let bad = "X-Answer: bad\r\n";
    let compatible = ASKED.replace("m-1", "openai/m-1");
    assert_eq!(call(&edge, "compat/chat/completions", bad, &compatible).status, 424);
    let steps = format!(
        "[{{\"provider\":\"openai\",\"endpoint\":\"v1/chat/completions\",\"headers\":{{\"x-answer\":\"bad\"}},\"query\":{ASKED}}}]"
    );
    let universal = request("", "", &steps).replacen("/v1/acme/main/", "/v1/acme/main", 1);
    assert_eq!(Client::once(edge.proxy[0], universal).status, 424);
    let read = format!(
        "GET /v1/acme/main/openai/v1/files/a HTTP/1.1\r\nHost: gw.example\r\n{bad}Connection: close\r\n\r\n"
    );
    assert_eq!(Client::once(edge.proxy[0], read).status, 424);
    let socket = "GET /v1/acme/main/openai/v1/realtime HTTP/1.1\r\nHost: gw.example\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\
                  Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    assert_eq!(Client::once(edge.proxy[0], socket).status, 424);
    // What was allowed is kept, and the next request of a connection is answered.
    let mut client = Client::connect(edge.proxy[0]);
    for (kind, status) in [("good", 200), ("bad", 424), ("good", 200)] {
        client.send(request(PATH, &format!("X-Answer: {kind}\r\n"), ASKED));
        assert_eq!(client.receive().unwrap().status, status, "{kind}");
    }
    let (asked, judged) = (provider.requests().len(), judge.requests().len());
    assert_eq!(wanting(&edge, "good").header("svc-aig-cache-status"), Some("HIT"));
    assert_eq!((provider.requests().len(), judge.requests().len()), (asked, judged));
}

#[test]
fn what_is_blocked_counts_for_budgets() {
    let (provider, judge) = (provider(), judge());
    let limits = "limits = [{ measure = \"tokens\", limit = 60, interval = \"1h\" }]\n";
    let edge = edge(&provider, &judge, "", limits);
    let mut statuses = Vec::new();
    while statuses.last() != Some(&429) {
        statuses.push(wanting(&edge, "bad").status);
        assert!(statuses.len() < 5, "29 tokens each, of which 60 are allowed: {statuses:?}");
        // What a call used is counted with its row.
        let blocked = statuses.iter().filter(|status| **status == 424).count();
        crate::support::wait_for("the rows", || {
            let rows = edge.events().iter().filter(|row| row["error"] == "response_blocked").count();
            (rows == blocked).then_some(())
        });
    }
    assert_eq!(provider.requests().len(), statuses.len() - 1);
}

#[test]
fn what_is_too_long_to_be_judged_fails_or_passes_whole() {
    let (provider, judge) = (provider(), judge());
    let limit = "[limits]\ninspected_body = \"16KiB\"\n";
    let closed = edge(&provider, &judge, limit, "");
    let long = wanting(&closed, "long");
    assert_eq!(long.status, 503);
    assert!(
        long.header("svc-aig-warning").is_some_and(|why| why.contains("inspected_body")),
        "{}",
        long.text()
    );
    assert_eq!(wanting(&closed, "good").status, 200);
    let open = edge(&provider, &judge, &format!("on_failure = \"pass\"\n{limit}"), "");
    let long = wanting(&open, "long");
    assert_eq!((long.status, long.text()), (200, "long ".repeat(20_000)));
    for kind in ["nonsense", "unreadable"] {
        assert_eq!(wanting(&open, kind).status, 200, "{kind}");
    }
    assert_eq!(wanting(&open, "bad").status, 424, "what it says still holds");
}

#[test]
fn nothing_of_a_stream_leaves_before_it_is_judged() {
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let may_go_on = Mutex::new(may_go_on);
    let provider = Origin::start(move |_, stream| {
        let begun =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"choices\":[\"begun\"]}\n\n";
        let sent = stream.write_all(begun.as_bytes()).is_ok();
        // Until the test has seen that nothing came.
        let _ = may_go_on.lock().unwrap().recv();
        let _ = sent && stream.write_all(b"data: \"forbidden\"\n\ndata: [DONE]\n\n").is_ok();
        false
    });
    let judge = judge();
    let edge = edge(&provider, &judge, "", "heartbeat = \"100ms\"\n");
    let mut client = std::net::TcpStream::connect(edge.proxy[0]).unwrap();
    client.write_all(request(PATH, "Connection: close\r\n", ASKED).as_bytes()).unwrap();
    crate::support::wait_for("the provider's request", || (provider.requests().len() == 1).then_some(()));
    client.set_read_timeout(Some(std::time::Duration::from_millis(500))).unwrap();
    assert!(client.read(&mut [0; 100]).is_err(), "neither a head nor a sign of life");
    assert!(judge.requests().is_empty());
    go_on.send(()).unwrap();
    client.set_read_timeout(None).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 424") && !answer.contains("begun"), "{answer}");
}

#[test]
fn stages_have_words_and_are_not_none() {
    let judge = judge();
    for (stages, expected) in [
        ("[]", "`gateways.guardrail.stages` is empty"),
        ("[\"answer\"]", "expected one of `request`, `response`, found `answer`"),
    ] {
        let settings =
            format!("{GATEWAY}[gateways.guardrail]\nurl = \"{}\"\nstages = {stages}\n", judge.url());
        let refused = crate::support::refused_by_check(&conf(&judge, &settings));
        assert!(refused.contains(expected), "{refused}");
    }
    // Both are judged if both are named.
    let provider = provider();
    let both = format!(
        "{GATEWAY}[gateways.guardrail]\nurl = \"{}/judge\"\nstages = [\"request\", \"response\"]\n",
        judge.url()
    );
    let edge = Edge::start(&conf(&provider, &both));
    assert_eq!(wanting(&edge, "good").status, 200);
    let stages = judge.requests().into_iter().map(|asked| {
        serde_json::from_slice::<Value>(&asked.body).unwrap()["stage"].as_str().unwrap().to_owned()
    });
    assert_eq!(stages.collect::<Vec<_>>(), ["request", "response"]);
    let forbidden = call(&edge, PATH, "", "{\"messages\":[\"forbidden\"]}");
    assert_eq!((forbidden.header("svc-aig-error"), provider.requests().len()), (Some("2016"), 1));
}
