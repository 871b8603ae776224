//! Dynamic routes: a model's name that stands for a graph.

use std::io::{Read as _, Write as _};

use serde_json::{Value, json};

use crate::ai_steps::{call, conf, in_turn};
use crate::support::{Client, Edge, Origin, Response, run_for_gateway, wait_for};

pub(crate) const COMPAT: &str = "/compat/chat/completions";
/// 19 tokens in and 10 out.
const CHAT: &str =
    r#"{"model":"m-1","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29}}"#;

pub(crate) fn good() -> Origin {
    Origin::fixed("application/json", CHAT)
}

fn broken() -> Origin {
    in_turn(vec![
        "HTTP/1.1 500 X\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"error\":1}"
            .to_owned(),
    ])
}

fn to(id: &str) -> Value {
    json!({ "elementId": id })
}

pub(crate) fn start(next: &str) -> Value {
    json!({"id": "start", "type": "start", "outputs": {"next": to(next)}})
}

pub(crate) fn end() -> Value {
    json!({"id": "end", "type": "end", "outputs": {}})
}

/// A model of the provider of its own name.
pub(crate) fn model(id: &str, fallback: &str) -> Value {
    json!({"id": id, "type": "model", "properties": {"provider": id, "model": format!("{id}-model"), "retries": 0, "timeout": 0},
        "outputs": {"success": to("end"), "fallback": to(fallback)}})
}

fn rate(kind: &str, limit: f64, success: &str, fallback: Option<&str>) -> Value {
    let mut outputs = json!({ "success": to(success) });
    if let Some(fallback) = fallback {
        outputs["fallback"] = to(fallback);
    }
    json!({"id": "rate", "type": "rate", "outputs": outputs,
        "properties": {"key": "metadata.user", "limit": limit, "limitType": kind, "window": 31_536_000}})
}

/// `[[gateways.routes]]` of elements.
pub(crate) fn in_file(name: &str, elements: &[Value]) -> String {
    fn toml(value: &Value) -> String {
        match value {
            Value::Object(members) => {
                let members = members.iter().map(|(name, value)| format!("{name:?} = {}", toml(value)));
                format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
            }
            Value::Array(list) => format!("[{}]", list.iter().map(toml).collect::<Vec<_>>().join(", ")),
            other => other.to_string(),
        }
    }
    format!("[[gateways.routes]]\nname = \"{name}\"\nelements = {}\n", toml(&elements.into()))
}

pub(crate) fn ask(edge: &Edge, fields: &str) -> Response {
    call(edge, COMPAT, fields, r#"{"messages":[ ], "model" : "dynamic/support","n":1.0}"#)
}

/// The provider that a route chose.
pub(crate) fn provider(response: &Response) -> &str {
    assert_eq!(response.status, 200, "{}", response.text());
    response.header("svc-aig-provider").unwrap()
}

pub(crate) fn restarted(mut edge: Edge) -> Edge {
    edge.signal("TERM");
    edge.wait_for_exit();
    edge.again()
}

fn user(name: &str) -> String {
    format!("svc-aig-metadata: {{\"user\":\"{name}\"}}\r\n")
}

#[test]
fn calls_go_where_their_route_leads() {
    let (large, small, down) = (good(), good(), broken());
    let conditional = json!({"id": "if", "type": "conditional",
        "properties": {"conditions": {"$or": [{"metadata.plan": {"$in": ["paid", "trial"]}}, {"headers.x-plan": "paid"}]}},
        "outputs": {"true": to("down"), "false": to("small")}});
    let route = in_file(
        "support",
        &[
            start("if"),
            conditional,
            model("down", "large"),
            model("large", "small"),
            model("small", "end"),
            end(),
        ],
    );
    let mut edge = Edge::start(&conf(&route, &[("large", &large), ("small", &small), ("down", &down)]));
    for fields in ["svc-aig-metadata: {\"plan\":\"trial\"}\r\n", "x-plan: paid\r\n"] {
        // Keys of a caller are not for whom a route chooses.
        let keys = "authorization: Bearer k\r\nx-api-key: k\r\napi-key: k\r\nx-goog-api-key: k\r\nxi-api-key: k\r\ncookie: k=1\r\n";
        let answer = ask(&edge, &format!("{fields}{keys}x-own: kept\r\n"));
        assert_eq!((provider(&answer), answer.header("svc-aig-model")), ("large", Some("large-model")));
        assert_eq!(answer.text(), CHAT);
        let seen = large.last();
        assert_eq!((seen.path(), seen.header("x-own")), ("/chat/completions", Some("kept")));
        assert_eq!(&seen.body[..], br#"{"messages":[ ], "model" : "large-model","n":1.0}"#);
        for name in ["authorization", "x-api-key", "api-key", "x-goog-api-key", "xi-api-key", "cookie"] {
            assert_eq!((seen.header(name), down.last().header(name)), (None, None), "{name}");
        }
    }
    for fields in [
        "",
        "svc-aig-metadata: {\"plan\":\"free\"}\r\n",
        "x-plan: paid\r\nx-plan: paid\r\n",
        "x-plan: PAID\r\n",
    ] {
        assert_eq!(provider(&ask(&edge, fields)), "small", "{fields}");
    }
    let row = edge.wait_for_event("ai_call", |row| row["provider"] == "large");
    assert_eq!(
        (&row["status_code"], &row["tokens_in"], &row["request_type"], &row["route"]),
        (&json!(200), &json!(19), &json!("compat"), &json!("support"))
    );
    let row = edge.wait_for_event("ai_call", |row| row["provider"] == "down");
    assert_eq!((&row["status_code"], &row["error"]), (&json!(500), &json!("fallback")));
}

#[test]
fn the_last_model_answers_whatever_it_answers() {
    let (down, good) = (broken(), good());
    // What follows a fallback is an end, though a condition stands before it.
    let conditional = json!({"id": "if", "type": "conditional", "properties": {"conditions": {"metadata.more": true}},
        "outputs": {"true": to("good"), "false": to("end")}});
    let route =
        in_file("support", &[start("down"), model("down", "if"), conditional, model("good", "end"), end()]);
    let edge = Edge::start(&conf(&route, &[("down", &down), ("good", &good)]));
    let answer = ask(&edge, "");
    assert_eq!((answer.status, answer.text().as_str()), (500, "{\"error\":1}"));
    assert_eq!(provider(&ask(&edge, "svc-aig-metadata: {\"more\":true}\r\n")), "good");
}

#[test]
fn a_model_has_its_time_and_its_attempts() {
    let silent = Origin::start(|_, stream| {
        // Until the edge does not wait any more.
        let _ = stream.read(&mut [0]);
        false
    });
    let busy = in_turn(vec![
        "HTTP/1.1 429 X\r\nContent-Length: 0\r\n\r\n".to_owned(),
        "HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n".to_owned(),
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{CHAT}",
            CHAT.len()
        ),
    ]);
    let (mut first, mut second) = (model("silent", "busy"), model("busy", "end"));
    first["properties"]["timeout"] = json!(100);
    second["properties"]["retries"] = json!(2);
    let route = in_file("support", &[start("silent"), first, second, end()]);
    let edge = Edge::start(&conf(&route, &[("silent", &silent), ("busy", &busy)]));
    assert_eq!(provider(&ask(&edge, "svc-aig-max-attempts: 1\r\n")), "busy");
    assert_eq!((silent.begun().len(), busy.requests().len()), (1, 3));
}

#[test]
fn shares_are_kept() {
    let (a, b) = (good(), good());
    let split = json!({"id": "split", "type": "percentage", "outputs": {"20%": to("a"), "else": to("b")}});
    let route = in_file("support", &[start("split"), split, model("a", "end"), model("b", "end"), end()]);
    let edge = Edge::start(&conf(&route, &[("a", &a), ("b", &b)]));
    for _ in 0..200 {
        assert_eq!(ask(&edge, "").status, 200);
    }
    let taken = a.requests().len();
    // Eight standard deviations.
    assert!((1..=85).contains(&taken) && taken + b.requests().len() == 200, "{taken}");
}

#[test]
fn what_is_over_a_limit_falls_back_or_is_refused() {
    let (large, small) = (good(), good());
    for fallback in [Some("small"), None] {
        large.forget();
        let route = in_file(
            "support",
            &[
                start("rate"),
                rate("count", 10.0, "large", fallback),
                model("large", "end"),
                model("small", "end"),
                end(),
            ],
        );
        let edge = Edge::start(&conf(&route, &[("large", &large), ("small", &small)]));
        let answers: Vec<Response> = std::thread::scope(|scope| {
            let calls: Vec<_> = (0..40).map(|_| scope.spawn(|| ask(&edge, &user("ann")))).collect();
            calls.into_iter().map(|call| call.join().unwrap()).collect()
        });
        assert_eq!(large.requests().len(), 10);
        let over: Vec<&Response> =
            answers.iter().filter(|answer| answer.header("svc-aig-provider") != Some("large")).collect();
        assert_eq!(over.len(), 30);
        for answer in over {
            match fallback {
                Some(_) => assert_eq!(provider(answer), "small"),
                None => {
                    assert_eq!((answer.status, answer.header("svc-aig-error")), (429, Some("2003")));
                    assert!(answer.header("retry-after").is_some());
                }
            }
        }
        // Each user has a counter, and so have those who say nothing.
        for fields in [user("bob"), String::new(), "svc-aig-metadata: {\"user\":5}\r\n".to_owned()] {
            assert_eq!(provider(&ask(&edge, &fields)), "large");
        }
    }
}

#[test]
fn requests_count_once_whatever_fails_behind_them() {
    let (down, good) = (broken(), good());
    let route = in_file(
        "support",
        &[
            start("rate"),
            rate("count", 2.0, "down", None),
            model("down", "good"),
            model("good", "end"),
            end(),
        ],
    );
    let edge = Edge::start(&conf(&route, &[("down", &down), ("good", &good)]));
    for _ in 0..2 {
        assert_eq!(provider(&ask(&edge, &user("ann"))), "good");
    }
    assert_eq!(ask(&edge, &user("ann")).status, 429);
}

#[test]
fn money_is_reserved_before_the_call_and_survives_a_restart() {
    let (large, small) = (good(), good());
    let folder = tempfile::tempdir().unwrap();
    // 19 tokens in and 10 out of the large model cost 0.119; the small one is not free either.
    let prices = r#"{"large-model":{"input_cost_per_token":0.001,"output_cost_per_token":0.01},
        "small-model":{"input_cost_per_token":0.0001,"output_cost_per_token":0.0001}}"#;
    std::fs::write(folder.path().join("prices.json"), prices).unwrap();
    let route = in_file(
        "support",
        &[
            start("rate"),
            rate("cost", 0.25, "large", Some("small")),
            model("large", "end"),
            model("small", "end"),
            end(),
        ],
    );
    let conf =
        format!("model_prices = \"prices.json\"\n{}", conf(&route, &[("large", &large), ("small", &small)]));
    let edge = Edge::start_in(folder, &conf, &[]);
    let body = r#"{"messages":[], "model":"dynamic/support","max_tokens":10}"#;
    let ask = |edge: &Edge, name: &str| call(edge, COMPAT, &user(name), body);
    // At once: each reserves what it may cost, so that no more than two go out.
    let answers: Vec<Response> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..20).map(|_| scope.spawn(|| ask(&edge, "ann"))).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert!((1..=2).contains(&large.requests().len()), "{}", large.requests().len());
    assert!(answers.iter().all(|answer| answer.status == 200), "the others fall back");
    wait_for("what the first did not use", || {
        ask(&edge, "ann");
        (large.requests().len() == 2).then_some(())
    });
    let is_kept = |row: &&Value| row["event"] == "ai_call" && row["provider"] == "large";
    wait_for("both rows", || (edge.events().iter().filter(is_kept).count() == 2).then_some(()));
    assert_eq!(provider(&ask(&edge, "ann")), "small");
    assert_eq!(provider(&ask(&edge, "bob")), "large");
    let edge = restarted(edge);
    assert_eq!(provider(&ask(&edge, "ann")), "small");
}

#[test]
fn what_a_route_cannot_read_is_refused() {
    let large = good();
    let conditional = json!({"id": "if", "type": "conditional", "properties": {"conditions": {"body.max_tokens": {"$lte": 100}}},
        "outputs": {"true": to("large"), "false": to("end")}});
    let elements = [start("if"), conditional, model("large", "end"), end()];
    let route = format!("{}{}", in_file("support", &elements), in_file("nothing", &[start("end"), end()]));
    let edge = Edge::start(&conf(&route, &[("large", &large)]));
    let ask = |body: &str| call(&edge, COMPAT, "", body);
    assert_eq!(ask(r#"{"model":"dynamic/support","max_tokens":100}"#).status, 200);
    let before = large.requests().len();
    let rows = [
        (r#"{"model":"dynamic/support","max_tokens":101}"#, 404, "7003"),
        (r#"{"model":"dynamic/support","max_tokens":100,"max_tokens":9000}"#, 400, "2000"),
        (r#"{"model":"dynamic/support","max_tokens":100,"max\u005ftokens":9000}"#, 400, "2000"),
        (r#"{"model":"dynamic/support","max_tokens":"1"}"#, 404, "7003"),
        (r#"{"model":"dynamic/support"}"#, 404, "7003"),
        (r#"{"model":"dynamic/support","max_tokens":1"#, 400, "2000"),
        (r#"{"model":"dynamic/support","model":"large/m","max_tokens":1}"#, 400, "2000"),
        (r#"{"model":"dynamic/Support","max_tokens":1}"#, 404, "7003"),
        (r#"{"model":"dynamic/","max_tokens":1}"#, 404, "7003"),
        (r#"{"model":"dynamic/../support","max_tokens":1}"#, 404, "7003"),
        (r#"{"model":"dynamic/sup\u0070ort","max_tokens":1}"#, 404, "7003"),
        (r#"{"model":"dynamic/nothing"}"#, 404, "7003"),
        (r#"{"model":"dynamic"}"#, 400, "2000"),
    ];
    for (body, status, code) in rows {
        let answer = ask(body);
        assert_eq!((answer.status, answer.header("svc-aig-error")), (status, Some(code)), "{body}");
        assert!(answer.header("svc-aig-warning").is_some(), "{body}");
    }
    let socket = "GET /v1/acme/main/compat/chat/completions HTTP/1.1\r\nHost: gw.example\r\nConnection: Upgrade\r\n\
                  Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    assert_eq!(Client::once(edge.proxy[0], socket).status, 400);
    // Read on another thread.
    let long =
        format!("{{\"model\":\"dynamic/support\",\"max_tokens\":1,\"a\":\"{}\"}}", "x".repeat(200_000));
    assert_eq!(ask(&long).status, 200);
    assert_eq!(large.last().body.len(), long.len() - "dynamic/support".len() + "large-model".len());
    assert_eq!(ask(&long.replace("\"a\"", "\"max_tokens\":1,\"a\"")).status, 400);
    let before = before + 1;
    let deep = format!("{{\"model\":\"dynamic/support\",\"a\":{}}}", "[".repeat(100_000));
    assert_eq!(ask(&deep).status, 400);
    assert_eq!(large.requests().len(), before);
}

#[test]
fn a_step_of_a_universal_request_may_be_a_route() {
    let (down, good) = (broken(), good());
    let routes = format!(
        "{}{}",
        in_file("support", &[start("good"), model("good", "end"), end()]),
        in_file("failing", &[start("down"), model("down", "end"), end()])
    );
    let edge = Edge::start(&conf(&routes, &[("down", &down), ("good", &good)]));
    let step = |model: &str| {
        json!({"provider": "compat", "endpoint": "chat/completions",
        "headers": {"authorization": "Bearer k"}, "query": {"model": model, "messages": []}})
    };
    let ask = |steps: &[Value]| call(&edge, "", "", &Value::from(steps).to_string());
    let answer =
        ask(&[step("dynamic/failing"), step("dynamic/none"), step("nowhere/m"), step("dynamic/support")]);
    assert_eq!((provider(&answer), answer.header("svc-aig-step")), ("good", Some("3")));
    assert_eq!(good.last().header("authorization"), None);
    let answer = ask(&[step("dynamic/none"), step("good/own")]);
    assert_eq!((answer.status, answer.header("svc-aig-step")), (200, Some("1")));
    let seen = good.last();
    assert_eq!((seen.path(), seen.header("authorization")), ("/chat/completions", Some("Bearer k")));
    assert_eq!(serde_json::from_slice::<Value>(&seen.body).unwrap(), json!({"model": "own", "messages": []}));
    for steps in
        [&[step("good/m"), step("none")][..], &[json!({"provider": "compat", "endpoint": "x", "query": {}})]]
    {
        assert_eq!(ask(steps).status, 400, "a list is read as a whole");
    }
}

/// A client cannot turn one request into dozens of calls with a list that names a route 16 times, each of which asks three
/// models.
#[test]
fn the_routes_of_one_request_ask_a_bounded_number_of_models() {
    let down = broken();
    let again = |id: &str, fallback: &str| {
        let mut again = model("down", fallback);
        again["id"] = json!(id);
        again
    };
    let route = in_file("support", &[start("a"), again("a", "b"), again("b", "c"), again("c", "end"), end()]);
    let edge = Edge::start(&conf(&route, &[("down", &down)]));
    let step = json!({"provider": "compat", "endpoint": "x", "query": {"model": "dynamic/support"}});
    let answer = call(&edge, "", "", &Value::from(vec![step; 16]).to_string());
    assert_eq!((answer.status, down.requests().len()), (502, 16), "{}", answer.text());
}

#[test]
fn stored_keys_go_with_the_calls_of_a_route() {
    let large = good();
    let route = in_file("support", &[start("large"), model("large", "end"), end()]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secrets.key"), "0123456789abcdef".repeat(4)).unwrap();
    let conf = format!("secrets_key_file = \"secrets.key\"\n{}", conf(&route, &[("large", &large)]));
    let edge = Edge::start_in(folder, &conf, &[]);
    let of_provider = ["--provider", "large", "--alias", "a"];
    let added = run_for_gateway(edge.folder.path(), &["key", "add"], &of_provider, b"stored");
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    wait_for("the key to be known", || {
        assert_eq!(ask(&edge, "authorization: Bearer own\r\n").status, 200);
        (large.last().header("authorization") == Some("Bearer stored")).then_some(())
    });
}

#[test]
fn streams_pass_as_they_come() {
    const EVENTS: &str = "data: {\"choices\":[]}\n\ndata: [DONE]\n\n";
    let large = Origin::start(|_, stream| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
        let _ = stream.write_all(format!("{head}{EVENTS}").as_bytes());
        false
    });
    let route = in_file("support", &[start("large"), model("large", "end"), end()]);
    let edge = Edge::start(&conf(&route, &[("large", &large)]));
    let answer = call(&edge, COMPAT, "", r#"{"model":"dynamic/support","stream":true,"messages":[]}"#);
    assert_eq!((provider(&answer), answer.text().as_str()), ("large", EVENTS));
}
