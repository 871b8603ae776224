//! Budgets and cached answers of a gateway: no spelling of a call gets past them.

use crate::support::{Client, Edge, Origin, gzip, run_for_gateway, wait_for};
use crate::ways_around::{ask, ask_coded, gateway};

/// A call that costs a tenth of a dollar, whatever is asked: a hundred tokens of a thousandth each.
pub(crate) const DEAR: &str = r#"{"id":"1","model":"m","choices":[{"message":{"role":"assistant","content":"hi"}}],"usage":{"prompt_tokens":0,"completion_tokens":100,"total_tokens":100}}"#;

/// Ways to spend more than a budget: what the caller adds to the head, and the body.
pub(crate) const WAYS: &[(&str, &str)] = &[
    ("", r#"{"model":"m","max_tokens":100}"#),
    ("", r#"{"model":"m"}"#),
    ("", r#"{"model":"m","max_tokens":18446744073709551615}"#),
    ("", r#"{"model":"m","max_tokens":18446744073709551516}"#),
    ("", r#"{"model":"m","max_tokens":1e300}"#),
    ("", r#"{"model":"m","max_tokens":-1}"#),
    ("", r#"{"model":"m","max_tokens":"100"}"#),
    ("", r#"{"model":"m","max_tokens":null}"#),
    ("", r#"{"model":"m","max_tokens":1,"max_tokens":100}"#),
    ("", r#"{"model":"m","max_tokens":1,"maxTokens":100}"#),
    ("", r#"{"model":"m","max_tokens":1,"max_completion_tokens":100}"#),
    ("", r#"{"model":"m","max_output_tokens":100}"#),
    ("", r#"{"model":"m","max_tokens":1,"n":100}"#),
    ("", r#"{"model":"m","max_tokens":1,"best_of":100}"#),
    ("", r#"{"model":"m","max_tokens":1,"n":1,"n":100}"#),
    ("", r#"{"model":"m","generationConfig":{"maxOutputTokens":1,"candidateCount":100}}"#),
    ("", r#"{"model":"m","inferenceConfig":{"maxTokens":100}}"#),
    ("", r#"{"model":"m","parameters":{"max_new_tokens":100}}"#),
    ("", r#"{"model":"m","options":{"num_predict":-1}}"#),
    (
        "",
        r#"{"requests":[{"params":{"model":"m","max_tokens":50}},{"params":{"model":"m","max_tokens":50}}]}"#,
    ),
    (
        "",
        r#"{"requests":[{"params":{"model":"m","max_tokens":1}},{"params":{"model":"free","max_tokens":1}}]}"#,
    ),
    ("", r#"{"model":"free","model":"m","max_tokens":100}"#),
    ("", r#"{"model":"m","Model":"free","max_tokens":100}"#),
    ("", r#"{"model":"free","mod\u0065l":"m","max_tokens":100}"#),
    ("", r#"{"model":"unknown","max_tokens":100}"#),
    ("", r#"{"max_tokens":100}"#),
    ("", r#"{"model":"","max_tokens":100}"#),
    ("", r#"{"model":["m"],"max_tokens":100}"#),
    ("", r#"[{"model":"m","max_tokens":100}]"#),
    ("", "\u{feff}{\"model\":\"m\",\"max_tokens\":100}"),
    ("", r#"{"model":"m","max_tokens":100"#),
    ("", r#"{"model":"m","max_tokens":100}{}"#),
    ("", "model=m&max_tokens=100"),
    ("", ""),
    ("", r#"{"model":"m","max_tokens":100,"stream":true,"tools":[{"type":"web_search"}]}"#),
    ("", r#"{"model":"m","max_tokens":100,"previous_response_id":"r1"}"#),
    (
        "",
        r#"{"model":"m","max_tokens":100,"messages":[{"content":[{"type":"image_url","image_url":{"url":"https://x.example/i"}}]}]}"#,
    ),
    (
        "svc-aig-custom-cost: {\"per_token_in\":0,\"per_token_out\":0}\r\n",
        r#"{"model":"m","max_tokens":100}"#,
    ),
    (
        "svc-aig-custom-cost: {\"per_token_in\":0,\"per_token_out\":0}\r\n",
        r#"{"model":"unknown","max_tokens":100}"#,
    ),
    ("svc-aig-collect-log: false\r\n", r#"{"model":"m","max_tokens":100}"#),
    ("svc-aig-collect-log-payload: false\r\n", r#"{"model":"m","max_tokens":100}"#),
    ("svc-aig-max-attempts: 5\r\n", r#"{"model":"m","max_tokens":100}"#),
    ("svc-aig-cache-ttl: 60\r\nsvc-aig-skip-cache: true\r\n", r#"{"model":"m","max_tokens":100}"#),
    ("Upgrade: websocket\r\n", r#"{"model":"m","max_tokens":100}"#),
    ("Content-Encoding: gzip\r\n", r#"{"model":"m","max_tokens":100}"#),
    ("X-HTTP-Method-Override: GET\r\n", r#"{"model":"m","max_tokens":100}"#),
];

fn spender(origin: &Origin, settings: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let prices = r#"{"m":{"input_cost_per_token":0.000001,"output_cost_per_token":0.001},
                     "free":{"input_cost_per_token":0,"output_cost_per_token":0}}"#;
    std::fs::write(folder.path().join("prices.json"), prices).unwrap();
    let limit =
        "[[gateways.limits]]\nmeasure = \"cost\"\nlimit = 1.0\ninterval = \"30d\"\nby = [\"metadata.way\"]\n";
    let conf = format!("model_prices = \"prices.json\"\n{}", gateway(origin, &format!("{settings}{limit}")));
    (folder, conf)
}

fn spend(edge: &Edge, way: &str, fields: &str, body: &str) -> u16 {
    let framing =
        format!("Content-Length: {}\r\n{fields}svc-aig-metadata: {{\"way\":\"{way}\"}}", body.len());
    ask(edge, &framing, body)
}

#[test]
fn no_way_around_a_budget() {
    let origin = Origin::fixed("application/json", DEAR);
    let (folder, conf) = spender(&origin, "");
    let edge = Edge::start_in(folder, &conf, &[]);
    let mut refused = 0;
    for (nth, (fields, body)) in WAYS.iter().enumerate() {
        let way = format!("way-{nth}");
        origin.forget();
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        spend(&edge, &way, fields, body);
                    }
                });
            }
        });
        let spent = origin.begun().len();
        // One dollar, and at most one call more.
        assert!(spent <= 11, "{spent} calls of 0.1 $ by {fields:?} {body:?}");
        // The first one is nearly exact: of the tenth call the input is reserved beside the answer.
        assert!(nth > 0 || spent == 9, "{spent}");
        refused += usize::from(spent == 0);
    }
    assert_eq!((WAYS.len(), refused), (46, 24), "ways, and those of them that are refused");
    // Where the operator says what such a call counts, it passes as often as that allows.
    let unknown = Origin::fixed("application/json", DEAR.replace("\"m\"", "\"unknown\""));
    let (folder, conf) = spender(&unknown, "unpriced_call_cost = 0.5\n");
    let edge = Edge::start_in(folder, &conf, &[]);
    let statuses: Vec<u16> =
        (0..4).map(|_| spend(&edge, "u", "", r#"{"model":"unknown","max_tokens":100}"#)).collect();
    assert_eq!(statuses, [200, 200, 429, 429]);
    // And where it lets callers set prices, those count.
    let (folder, conf) = spender(&origin, "caller_prices = true\n");
    let edge = Edge::start_in(folder, &conf, &[]);
    let fields = "svc-aig-custom-cost: {\"per_token_in\":0,\"per_token_out\":0}\r\n";
    let passed = (0..20).filter(|_| spend(&edge, "c", fields, r#"{"model":"m","max_tokens":100}"#) == 200);
    assert_eq!(passed.count(), 20);
}

#[test]
fn a_coded_call_counts_what_it_holds() {
    let origin = Origin::fixed("application/json", DEAR);
    let limit = "[[gateways.limits]]\nmeasure = \"tokens\"\nlimit = 5000\ninterval = \"30d\"\n";
    let edge = Edge::start(&gateway(&origin, limit));
    let call = |words: usize| {
        let words: String = (0..words).map(|nth| format!("word {} ", nth % 100)).collect();
        format!(r#"{{"model":"m","max_tokens":1,"messages":[{{"content":"{words}"}}]}}"#)
    };
    let send = |coding: &str, body: &[u8]| ask_coded(&edge, coding, body);
    let long = gzip(call(4_000));
    assert!(long.len() < 4_000, "its own bytes would fit");
    assert_eq!((send("identity", call(4_000).as_bytes()), send("gzip", &long)), (429, 429));
    assert_eq!((send("gzip", call(10).as_bytes()), send("x-own", call(10).as_bytes())), (400, 400));
    assert!(origin.begun().is_empty(), "none of these left");
    let short = gzip(call(10));
    assert_eq!(send("gzip", &short), 200);
    assert_eq!(origin.last().body, short, "what passes is as it was");
}

#[test]
fn budgets_outlast_a_restart() {
    for fields in ["", "svc-aig-collect-log: false\r\n"] {
        let origin = Origin::fixed("application/json", DEAR);
        let (folder, conf) = spender(&origin, "");
        let mut edge = Edge::start_in(folder, &conf, &[]);
        let body = r#"{"model":"m","max_tokens":100}"#;
        let mut passed = 0;
        for _ in 0..3 {
            passed += (0..4).filter(|_| spend(&edge, "r", fields, body) == 200).count();
            edge.signal("TERM");
            edge.wait_for_exit();
            edge = edge.again();
        }
        assert!((9..=10).contains(&passed), "{passed} of 12 calls of 0.1 $ {fields}");
    }
}

fn ask_as(edge: &Edge, fields: &str, body: &str) -> crate::support::Response {
    let length = body.len();
    Client::once(
        edge.proxy[0],
        format!(
            "POST /v1/acme/main/openai/chat/completions HTTP/1.1\r\nHost: gw.example\r\n{fields}\
             Content-Length: {length}\r\n\r\n{body}"
        ),
    )
}

#[test]
fn answers_are_for_who_asked() {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let origin = Origin::start(move |_, stream| {
        let body = format!("{{\"answer\":{}}}", asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst));
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        std::io::Write::write_all(stream, head.as_bytes()).is_ok()
    });
    for (shared, callers) in [(false, [0, 1, 2]), (true, [0, 0, 0])] {
        let conf = gateway(&origin, &format!("cache_ttl = \"60s\"\ncache_shared = {shared}\n"));
        let edge = Edge::start(&conf);
        let token = |name: &str| {
            let output = run_for_gateway(edge.folder.path(), &["token", "create"], &["--name", name], b"");
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let (a, b) = (token("a"), token("b"));
        let body = r#"{"model":"m"}"#;
        // Tokens take effect a moment after they are made.
        let known = |token: &str| {
            let fields = format!("svc-aig-authorization: Bearer {token}\r\nsvc-aig-skip-cache: true\r\n");
            let id = ask_as(&edge, &fields, body).header("svc-aig-request-id").unwrap().to_owned();
            let mut found = None;
            wait_for("the line of the call", || {
                found =
                    edge.events().iter().find(|e| e["event"] == "ai_call" && e["id"] == id.as_str()).cloned();
                found.clone()
            });
            (!found.unwrap()["token_id"].is_null()).then_some(())
        };
        wait_for("both tokens", || known(&a).and_then(|()| known(&b)));
        let first = |fields: &str, body: &str| ask_as(&edge, fields, body).text();
        let fields = |token: &str| format!("svc-aig-authorization: Bearer {token}\r\n");
        let answers = [first(&fields(&a), body), first(&fields(&b), body), first("", body)];
        let different: Vec<usize> =
            answers.iter().map(|text| answers.iter().position(|other| other == text).unwrap()).collect();
        assert_eq!(different, callers, "{answers:?}");
        assert_eq!(first(&fields(&a), body), answers[0], "the same question of the same caller");
        if shared {
            continue;
        }
        // Nothing that may change an answer is passed over, and a name joins no questions.
        for (fields, body) in [
            ("accept: text/event-stream\r\n", body),
            ("accept-encoding: gzip\r\n", body),
            ("openai-organization: o\r\n", body),
            ("anthropic-beta: b\r\n", body),
            ("svc-aig-cache-key: k\r\n", body),
            ("svc-aig-cache-key: k\r\n", r#"{"model":"other"}"#),
        ] {
            let caller = format!("svc-aig-authorization: Bearer {a}\r\n{fields}");
            assert!(!answers.contains(&first(&caller, body)), "{fields} {body}");
        }
    }
}
