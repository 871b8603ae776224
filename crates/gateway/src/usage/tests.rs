//! Answers of every provider, whole, streamed, coded and cut at every byte.

use std::io::Write;

use super::{Report, Tap, Usage};

fn report(content_type: &str, coding: &str, body: &[u8], split: usize) -> Report {
    let mut tap = Tap::new(content_type.as_bytes(), coding.as_bytes());
    let (head, tail) = body.split_at(split.min(body.len()));
    tap.push(head);
    tap.push(tail);
    tap.finish()
}

fn tokens(usage: Usage) -> [Option<u64>; 4] {
    [usage.input, usage.output, usage.cache_read, usage.reasoning]
}

/// Name, content type, body; then model, input, output, read from a cache, reasoning.
type Row = (&'static str, &'static str, &'static str, &'static str, [Option<u64>; 4]);

const SSE: &str = "text/event-stream; charset=utf-8";
const JSON: &str = "application/json";

const ANSWERS: &[Row] = &[
    (
        "chat",
        JSON,
        r#"{"id":"c","object":"chat.completion","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"say \"usage\":{\"prompt_tokens\":9999}"}}],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}}"#,
        "m-1",
        [Some(19), Some(10), Some(4), Some(3)],
    ),
    (
        "chat, streamed",
        SSE,
        "data: {\"id\":\"c\",\"model\":\"m-1\",\"choices\":[{\"delta\":{\"content\":\"H\u{e9}\"}}],\"usage\":null}\n\ndata: {\"id\":\"c\",\"model\":\"m-1\",\"choices\":[],\"usage\":{\"prompt_tokens\":19,\"completion_tokens\":10,\"total_tokens\":29}}\n\ndata: [DONE]\n\n",
        "m-1",
        [Some(19), Some(10), None, None],
    ),
    (
        "chat, streamed with CR LF, comments, a byte order mark and no last blank line",
        SSE,
        "\u{feff}: keep-alive\r\n\r\nevent: x\r\ndata:{\"model\":\"m-1\"}\r\n\r\ndata: {\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}",
        "m-1",
        [Some(1), Some(2), None, None],
    ),
    (
        "an event in several lines",
        SSE,
        "data: {\"model\":\"m-1\",\ndata: \"usage\":\ndata: {\"prompt_tokens\":1,\"completion_tokens\":2}}\n\n",
        "m-1",
        [Some(1), Some(2), None, None],
    ),
    (
        "responses, streamed",
        SSE,
        "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"model\":\"m-2\",\"usage\":null}}\n\nevent: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"model\":\"m-2\",\"usage\":{\"input_tokens\":36,\"input_tokens_details\":{\"cached_tokens\":5},\"output_tokens\":87,\"output_tokens_details\":{\"reasoning_tokens\":64},\"total_tokens\":123}}}\n\n",
        "m-2",
        [Some(36), Some(87), Some(5), Some(64)],
    ),
    (
        "embeddings",
        JSON,
        r#"{"object":"list","data":[{"embedding":[0.1]}],"model":"e-1","usage":{"prompt_tokens":8,"total_tokens":8}}"#,
        "e-1",
        [Some(8), Some(0), None, None],
    ),
    (
        "messages",
        JSON,
        r#"{"id":"m","type":"message","role":"assistant","model":"c-1","content":[{"type":"tool_use","input":{"usage":{"input_tokens":1}}}],"usage":{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":100,"output_tokens":6}}"#,
        "c-1",
        [Some(112), Some(6), Some(100), None],
    ),
    (
        "messages, streamed",
        SSE,
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"c-1\",\"content\":[],\"usage\":{\"input_tokens\":25,\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":10,\"output_tokens\":1}}}\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":15}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        "c-1",
        [Some(35), Some(15), Some(10), None],
    ),
    (
        "generateContent",
        JSON,
        r#"{"candidates":[{"content":{"parts":[{"text":"x"}]}}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":9,"thoughtsTokenCount":11,"totalTokenCount":24},"modelVersion":"g-1"}"#,
        "g-1",
        [Some(4), Some(20), None, Some(11)],
    ),
    (
        "generateContent, streamed",
        SSE,
        "data: {\"candidates\":[],\"usageMetadata\":{\"promptTokenCount\":4,\"totalTokenCount\":4},\"modelVersion\":\"g-1\"}\r\n\r\ndata: {\"candidates\":[],\"usageMetadata\":{\"promptTokenCount\":4,\"candidatesTokenCount\":9,\"totalTokenCount\":13},\"modelVersion\":\"g-1\"}\r\n\r\n",
        "g-1",
        [Some(4), Some(9), None, None],
    ),
    (
        "generateContent, streamed as an array",
        JSON,
        "[{\"usageMetadata\":{\"promptTokenCount\":4},\"modelVersion\":\"g-1\"}\n,\r\n{\"usageMetadata\":{\"promptTokenCount\":4,\"candidatesTokenCount\":9},\"modelVersion\":\"g-1\"}\n]",
        "g-1",
        [Some(4), Some(9), None, None],
    ),
    (
        "converse",
        JSON,
        r#"{"output":{"message":{}},"usage":{"inputTokens":30,"outputTokens":6,"totalTokens":36,"cacheReadInputTokens":4},"metrics":{"latencyMs":5}}"#,
        "",
        [Some(34), Some(6), Some(4), None],
    ),
    (
        "cohere",
        JSON,
        r#"{"id":"x","message":{},"usage":{"billed_units":{"input_tokens":5,"output_tokens":418},"tokens":{"input_tokens":71,"output_tokens":418}}}"#,
        "",
        [Some(5), Some(418), None, None],
    ),
    (
        "cohere, streamed",
        SSE,
        "event: message-end\ndata: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"COMPLETE\",\"usage\":{\"billed_units\":{\"input_tokens\":5,\"output_tokens\":9}}}}\n\n",
        "",
        [Some(5), Some(9), None, None],
    ),
    (
        "groq, streamed: once, though it is said twice",
        SSE,
        "data: {\"model\":\"l-1\",\"x_groq\":{\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3,\"total_tokens\":10}},\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3,\"total_tokens\":10}}\n\n",
        "l-1",
        [Some(7), Some(3), None, None],
    ),
    (
        "local, in lines",
        "application/x-ndjson",
        "{\"model\":\"o-1\",\"response\":\"a\",\"done\":false}\n{\"model\":\"o-1\",\"done\":true,\"prompt_eval_count\":26,\"eval_count\":298}\n",
        "o-1",
        [Some(26), Some(298), None, None],
    ),
    (
        "wrapped in a result",
        JSON,
        r#"{"result":{"response":"x","usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}},"success":true}"#,
        "",
        [Some(3), Some(4), None, None],
    ),
];

#[test]
fn answers_are_read_to_the_token_wherever_they_are_split() {
    let mut ran = 0;
    for (name, content_type, body, model, expected) in ANSWERS {
        for split in 0..=body.len() {
            let report = report(content_type, "", body.as_bytes(), split);
            assert_eq!(tokens(report.usage), *expected, "{name}, split at {split}");
            assert_eq!(report.model.as_deref().unwrap_or(""), *model, "{name}, split at {split}");
            assert!(!report.has_error, "{name}");
            ran += 1;
        }
    }
    assert!(ran > 3000, "{ran}");
}

#[test]
fn coded_answers_are_read_too() {
    for (name, content_type, body, _, expected) in ANSWERS {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(body.as_bytes()).unwrap();
        let mut brotli = Vec::new();
        brotli::CompressorWriter::new(&mut brotli, 4096, 5, 20).write_all(body.as_bytes()).unwrap();
        let zstd = zstd::encode_all(body.as_bytes(), 3).unwrap();
        for (coding, coded) in [("gzip", gzip.finish().unwrap()), ("br", brotli), ("zstd", zstd)] {
            for split in [1, 7, coded.len() / 2] {
                let report = report(content_type, coding, &coded, split);
                assert_eq!(tokens(report.usage), *expected, "{name}, {coding}");
            }
        }
    }
}

#[test]
fn events_of_a_coded_stream_are_seen_as_they_come() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"data: {\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\n").unwrap();
    gzip.flush().unwrap();
    // The stream is cut off: its end never comes.
    let report = report(SSE, "gzip", gzip.get_ref(), 3);
    assert_eq!(tokens(report.usage), [Some(1), Some(2), None, None]);
}

#[test]
fn frames_of_bedrock() {
    let frame = |payload: &str| super::event_stream::frame(payload.as_bytes());
    let converse = frame(r#"{"usage":{"inputTokens":30,"outputTokens":6},"metrics":{"latencyMs":5}}"#);
    let kind = "application/vnd.amazon.eventstream";
    // {"amazon-bedrock-invocationMetrics":{"inputTokenCount":7,"outputTokenCount":9}}
    let invoke = frame(
        r#"{"bytes":"eyJhbWF6b24tYmVkcm9jay1pbnZvY2F0aW9uTWV0cmljcyI6eyJpbnB1dFRva2VuQ291bnQiOjcsIm91dHB1dFRva2VuQ291bnQiOjl9fQ=="}"#,
    );
    for split in 0..converse.len() {
        assert_eq!(tokens(report(kind, "", &converse, split).usage)[..2], [Some(30), Some(6)]);
    }
    assert_eq!(tokens(report(kind, "", &invoke, 5).usage)[..2], [Some(7), Some(9)]);
}

#[test]
fn errors_within_a_stream_are_seen() {
    for body in [
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n",
        "data: {\"error\":{\"message\":\"x\"}}\n\n",
    ] {
        assert!(report(SSE, "", body.as_bytes(), 9).has_error, "{body}");
    }
}

#[test]
fn long_and_hostile_answers_take_no_memory() {
    let text = "a".repeat(4 << 20);
    let json =
        format!(r#"{{"model":"m","content":"{text}","usage":{{"prompt_tokens":1,"completion_tokens":2}}}}"#);
    assert_eq!(tokens(report(JSON, "", json.as_bytes(), 100).usage)[..2], [Some(1), Some(2)]);
    // An event that is longer than is held is not read; the next one is.
    let sse =
        format!("data: {text}\n\ndata: {{\"usage\":{{\"prompt_tokens\":1,\"completion_tokens\":2}}}}\n\n");
    let mut tap = Tap::new(SSE.as_bytes(), b"");
    for chunk in sse.as_bytes().chunks(1000) {
        tap.push(chunk);
    }
    assert_eq!(tokens(tap.finish().usage)[..2], [Some(1), Some(2)]);
    for (kind, body) in [
        (JSON, "{\"usage\":".repeat(50_000)),
        (SSE, "data: {\"usage\":\n".repeat(50_000)),
        (SSE, "\"usage\"".repeat(50_000)),
        (JSON, "\"model\":[".repeat(50_000)),
        ("application/x-ndjson", "{".repeat(500_000)),
    ] {
        assert_eq!(tokens(report(kind, "", body.as_bytes(), 10).usage), [None; 4]);
    }
    assert_eq!(report(JSON, "gzip", b"not gzip", 3), Report::default());
    assert_eq!(report("audio/mpeg", "", b"{\"usage\":{\"prompt_tokens\":1}}", 3), Report::default());
}

#[test]
fn what_cannot_be_read_counts_as_text() {
    let sound = super::event_stream::frame(b"{\"a\":1}");
    let mut damaged = sound.clone();
    damaged[13] ^= 1;
    let text = b"{\"text\":\"some words that a model wrote\"}".repeat(50);
    let gzip = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(&text).unwrap();
        encoder.finish().unwrap()
    };
    // Behind the header of ten bytes a block of the type that is reserved (RFC 1951 section 3.2.3).
    let corrupt = [&gzip[..10], &[0x07; 40]].concat();
    let long_line = [b"data: ".as_slice(), &b"x".repeat(2 << 20), b"\n\n"].concat();
    let bedrock = "application/vnd.amazon.eventstream";
    let cases: [(&str, &str, Vec<u8>, usize); 6] = [
        (bedrock, "", [damaged.clone(), sound.clone()].concat(), damaged.len() + sound.len()),
        (bedrock, "", [sound, b"HTTP/1.1 200 OK\r\n\r\n".to_vec()].concat(), 19),
        ("application/json", "compress", text.clone(), text.len()),
        ("text/event-stream", "gzip", corrupt, 40),
        ("text/event-stream", "", long_line, 2 << 20),
        ("application/json", "", [b"{\"a\":\"".to_vec(), b"x".repeat(3 << 20)].concat(), 2 << 20),
    ];
    for (content_type, coding, body, least) in cases {
        for split in [0, 1, body.len() / 2, body.len()] {
            let counted = report(content_type, coding, &body, split).text_bytes;
            assert!(counted >= least as u64, "{content_type} {coding} at {split}: {counted} of {least}");
            assert!(counted <= body.len() as u64, "{content_type} {coding} at {split}: {counted}");
        }
    }
    let mut masked = Tap::web_socket(b"");
    masked.push(&[0x81, 0x84, 1, 2, 3, 4, 5, 6, 7, 8]);
    masked.push(&[0; 100]);
    assert!(masked.finish().text_bytes >= 100);
}
