//! What users of gateways complain of, by number, and the test that keeps it from happening here.

/// Number, complaint, test.
const PAINS: &[(u8, &str, &str)] = &[
    (
        1,
        "the client goes away and the provider goes on",
        "ai_steps::a_client_that_goes_away_ends_the_call_at_the_provider",
    ),
    (2, "a broken answer becomes a clean end", "ai_steps::an_answer_that_breaks_off_is_never_a_clean_end"),
    (3, "events are lost where pieces split them", "ai_calls::streams_are_counted_and_pass_as_they_are"),
    (4, "coded streams are broken or not counted", "ai_calls::streams_are_counted_and_pass_as_they_are"),
    (5, "scanning turns streaming off", "ai_calls::sensitive_data_is_told_and_where_asked_not_forwarded"),
    (6, "memory grows with bodies", "ai_pains::long_answers_take_no_memory"),
    (
        7,
        "a database stands in the way of requests",
        "ai_calls::money_is_limited_by_team_and_survives_a_restart",
    ),
    (
        8,
        "a client that goes away makes the gateway count texts",
        "ai_pains::what_nobody_counted_is_estimated_afterwards",
    ),
    (9, "budgets are passed on some routes", "ai_pains::every_route_counts_towards_a_limit"),
    (10, "streams cost nothing in the log", "ai_calls::streams_are_counted_and_pass_as_they_are"),
    (11, "tokens from a cache cost more", "ai_calls::calls_leave_a_row_with_tokens_and_cost"),
    (
        12,
        "bodies are written anew, so that prompt caches miss",
        "gateway::everything_else_passes_as_it_was_sent",
    ),
    (13, "keys stand in logs and errors", "ai_rows::what_is_not_to_be_kept_is_never_stored"),
    (
        14,
        "a client chooses where a key goes",
        "ai_calls::custom_providers_are_public_unless_the_operator_says_otherwise",
    ),
    (15, "long requests are refused", "gateway::everything_else_passes_as_it_was_sent"),
    (
        16,
        "a 401 or 429 of the gateway looks like the provider's",
        "ai_calls::two_hundred_calls_at_once_and_a_hundred_allowed",
    ),
    (17, "the gateway's token reaches the provider", "gateway::everything_else_passes_as_it_was_sent"),
    (18, "slow first tokens are cut off", "ai_steps::a_provider_that_fails_is_asked_again"),
    (
        19,
        "metadata is dropped without a word, a time of 0 still keeps",
        "ai_steps::answers_are_kept_for_the_same_caller",
    ),
    (20, "nobody sees what the gateway itself takes", "ai_calls::calls_leave_a_row_with_tokens_and_cost"),
    (21, "long payloads in the log hold requests up", "ai_pains::long_answers_take_no_memory"),
];

use std::io::Write;

use crate::support::{Client, Edge, Origin, runs, wait_for};

#[test]
fn each_complaint_has_a_test_that_exists() {
    for (nth, (number, complaint, test)) in (1..).zip(PAINS) {
        assert_eq!(nth, *number, "{complaint}");
        assert!(runs(test), "the test of complaint {number}, {test}, does not run");
    }
    assert_eq!(PAINS.len(), 21);
}

fn conf(provider: &Origin, more: &str) -> String {
    format!(
        "gateway_hosts = [\"gw.example\"]\n[[gateways]]\naccount = \"acme\"\nid = \"main\"\nauthentication = false\n{more}\n[[providers]]\nslug = \"openai\"\nbase_url = \"{}\"\n",
        provider.url()
    )
}

fn call(edge: &Edge, path: &str, body: &str) -> crate::support::Response {
    Client::once(
        edge.proxy[0],
        format!(
            "POST /v1/acme/main{path} HTTP/1.1\r\nHost: gw.example\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ),
    )
}

#[test]
fn long_answers_take_no_memory() {
    const ANSWER_BYTES: usize = 64 << 20;
    let provider = Origin::start(|_, stream| {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {ANSWER_BYTES}\r\n\r\n"
        );
        let piece = format!("data: {}\n\n", "x".repeat((64 << 10) - 8));
        stream.write_all(head.as_bytes()).is_ok()
            && (0..ANSWER_BYTES / piece.len()).all(|_| stream.write_all(piece.as_bytes()).is_ok())
    });
    let edge = Edge::start(&conf(&provider, ""));
    assert_eq!(call(&edge, "/openai/v1/x", "{}").body.len(), ANSWER_BYTES);
    let before = edge.resident_kib();
    for _ in 0..4 {
        assert_eq!(call(&edge, "/openai/v1/x", "{}").body.len(), ANSWER_BYTES);
    }
    let grown = edge.resident_kib().saturating_sub(before);
    assert!(grown < 16 << 10, "{grown} KiB for {} MiB", 4 * (ANSWER_BYTES >> 20));
}

#[test]
fn what_nobody_counted_is_estimated_afterwards() {
    let text = "word ".repeat(80);
    let answer = format!(
        "data: {{\"model\":\"m\",\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\ndata: [DONE]\n\n"
    );
    let provider = Origin::fixed("text/event-stream", answer);
    let mut edge = Edge::start(&conf(&provider, ""));
    assert_eq!(call(&edge, "/openai/v1/chat/completions", "{\"stream\":true,\"model\":\"m\"}").status, 200);
    let row = edge.wait_for_event("ai_call", |_| true);
    assert_eq!(
        (&row["usage_source"], &row["tokens_out"], &row["tokens_in"]),
        (&"estimated".into(), &100.into(), &7.into())
    );
    // What makes no text is not estimated.
    assert_eq!(call(&edge, "/openai/v1/models", "").status, 200);
    let row = edge.wait_for_event("ai_call", |event| event["path"] == "/v1/models");
    assert_eq!((&row["usage_source"], &row["tokens_out"]), (&"none".into(), &serde_json::Value::Null));
}

#[test]
fn every_route_counts_towards_a_limit() {
    let provider = Origin::fixed("application/json", r#"{"usage":{"input_tokens":30,"output_tokens":20}}"#);
    let limit = "[[gateways.limits]]\nmeasure = \"tokens\"\nlimit = 250\ninterval = \"1d\"\n";
    let mut edge = Edge::start(&conf(&provider, limit));
    let ask = r#"{"model":"openai/m","max_tokens":20}"#;
    let universal = r#"[{"provider":"openai","endpoint":"v1/messages","query":{"max_tokens":20}}]"#;
    let routes = [
        ("/openai/v1/chat/completions", ask),
        ("/openai/v1/messages", ask),
        ("/openai/v1/responses", ask),
        ("/compat/chat/completions", ask),
    ];
    // What was reserved is less than what was used: until that is settled a smaller call still fits.
    let wait_for_left = |edge: &Edge, left: usize| {
        wait_for("the call to be settled", || {
            let probe = call(edge, "/openai/v1/chat/completions", r#"{"max_tokens":100000}"#);
            (probe.header("svc-aig-tokens-remaining") == Some(left.to_string().as_str())).then_some(())
        });
    };
    for (nth, (path, body)) in routes.iter().enumerate() {
        let response = call(&edge, path, body);
        assert_eq!(response.status, 200, "{path}");
        let id = response.header("svc-aig-request-id").unwrap().to_owned();
        edge.wait_for_event("ai_call", |event| event["id"] == id.as_str());
        // 50 tokens each, whatever was reserved.
        wait_for_left(&edge, 250 - 50 * (nth + 1));
    }
    assert_eq!(call(&edge, "", universal).status, 200);
    wait_for_left(&edge, 0);
    wait_for("the limit to hold on every route", || {
        routes.iter().all(|(path, body)| call(&edge, path, body).status == 429).then_some(())
    });
    assert_eq!(call(&edge, "", universal).status, 429);
}
