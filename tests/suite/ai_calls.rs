//! What a gateway knows of its calls: usage, cost, rows, limits.

use std::io::Write;

use serde_json::{Value, json};

use crate::ai_rows::{holds, request_head_bytes, stored};
use crate::support::{Client, Edge, Origin, Response, gzip, run_cli, run_for_gateway, wait_for};

pub(crate) const CHAT: &str = r#"{"id":"c","object":"chat.completion","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"answer-canary"}}],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":4}}}"#;

pub(crate) fn conf(provider: &Origin, more: &str) -> String {
    format!(
        "gateway_hosts = [\"gw.example\"]\n{more}\n[[providers]]\nslug = \"openai\"\nbase_url = \"{}\"\n",
        provider.url()
    )
}

pub(crate) const GATEWAY: &str = "[[gateways]]\naccount = \"acme\"\nid = \"main\"\nauthentication = false\n";

pub(crate) fn call(edge: &Edge, path: &str, headers: &str, body: &str) -> Response {
    Client::once(edge.proxy[0], request(path, headers, body))
}

pub(crate) fn request(path: &str, headers: &str, body: &str) -> String {
    format!(
        "POST /v1/acme/main/{path} HTTP/1.1\r\nHost: gw.example\r\n{headers}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

pub(crate) fn chat(edge: &Edge, headers: &str) -> Response {
    call(
        edge,
        "openai/v1/chat/completions",
        headers,
        r#"{"messages":["question-canary"],"model":"m-1","max_tokens":10}"#,
    )
}

/// The line of a call, by the id that its answer carries.
pub(crate) fn line(edge: &mut Edge, response: &Response) -> Value {
    let id = response.header("svc-aig-request-id").unwrap().to_owned();
    edge.wait_for_event("ai_call", move |event| event["id"] == id.as_str())
}

#[test]
fn calls_leave_a_row_with_tokens_and_cost() {
    let provider = Origin::fixed("application/json", CHAT);
    let folder = tempfile::tempdir().unwrap();
    let prices = r#"{"m-1":{"input_cost_per_token":0.001,"output_cost_per_token":0.01,"cache_read_input_token_cost":0.0001}}"#;
    std::fs::write(folder.path().join("prices.json"), prices).unwrap();
    let conf = format!("model_prices = \"prices.json\"\n{}", conf(&provider, GATEWAY));
    let mut edge = Edge::start_in(folder, &conf, &[]);
    let headers = "svc-aig-metadata: {\"team\":\"a\",\"bad\":null}\r\nsvc-aig-event-id: e-7\r\n";
    let response = chat(&edge, headers);
    assert_eq!((response.status, response.text().as_str()), (200, CHAT));
    let id = response.header("svc-aig-log-id").unwrap();
    assert_eq!((id.len(), response.header("svc-aig-event-id")), (26, Some("e-7")));
    assert!(response.header("svc-aig-warning").unwrap().contains("`bad`"));
    assert!(response.header("server-timing").unwrap().starts_with("gw;dur="));
    let row = line(&mut edge, &response);
    for (field, expected) in [
        ("provider", Value::from("openai")),
        ("model", "m-1".into()),
        ("model_type", "chat".into()),
        ("path", "/v1/chat/completions".into()),
        ("status_code", 200.into()),
        ("success", true.into()),
        ("cached", false.into()),
        ("tokens_in", 19.into()),
        ("tokens_out", 10.into()),
        ("tokens_cache_read", 4.into()),
        ("usage_source", "provider".into()),
        ("cost", 0.1154.into()),
        ("event_id", "e-7".into()),
        ("request_type", "native".into()),
        ("gateway_id", "main".into()),
    ] {
        assert_eq!(row[field], expected, "{field}");
    }
    assert_eq!(row["metadata"], serde_json::json!({"team": "a"}));
    let custom = chat(&edge, "svc-aig-custom-cost: {\"per_token_in\":1,\"per_token_out\":2}\r\n");
    let row = line(&mut edge, &custom);
    assert_eq!((&row["cost"], &row["custom_cost"]), (&39.0.into(), &true.into()));
    wait_for("the rows to be stored", || holds(&stored(&edge), "answer-canary").then_some(()));
    assert!(holds(&stored(&edge), "question-canary") && !edge.log_text().contains("canary"));
    let series = "gen_ai_client_inference_usage_input_tokens_total{gateway=\"acme/main\",gen_ai_provider_name=\"openai\",gen_ai_request_model=\"m-1\"}";
    edge.wait_for_metric(series, 38.0);
    assert!(edge.metrics().contains("gen_ai_client_operation_duration_seconds_bucket"));
}

#[test]
fn streams_are_counted_and_pass_as_they_are() {
    let sse = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-x\",\"usage\":{\"input_tokens\":25,\"cache_read_input_tokens\":10,\"output_tokens\":1}}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":15}}\n\n";
    let coded = gzip(sse);
    let answer = coded.clone();
    // Each byte in a piece of its own, so that every split is seen.
    let provider = Origin::start(move |_, stream| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n";
        let mut bytes = head.as_bytes().to_vec();
        for byte in &answer {
            bytes.extend_from_slice(&[b'1', b'\r', b'\n', *byte, b'\r', b'\n']);
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        stream.write_all(&bytes).is_ok()
    });
    let mut edge = Edge::start(&conf(&provider, GATEWAY));
    let response = call(&edge, "openai/v1/messages", "", "{\"stream\":true}");
    assert_eq!((response.status, response.body == coded), (200, true));
    let row = line(&mut edge, &response);
    assert_eq!(
        (&row["tokens_in"], &row["tokens_out"], &row["model"]),
        (&35.into(), &15.into(), &"claude-x".into())
    );
}

#[test]
fn two_hundred_calls_at_once_and_a_hundred_allowed() {
    let provider = Origin::fixed("application/json", CHAT);
    let gateways =
        format!("{GATEWAY}[[gateways.limits]]\nmeasure = \"requests\"\nlimit = 100\ninterval = \"1d\"\n");
    let edge = Edge::start(&conf(&provider, &gateways));
    let responses: Vec<Response> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..200).map(|_| scope.spawn(|| chat(&edge, ""))).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    let refused: Vec<&Response> = responses.iter().filter(|response| response.status == 429).collect();
    assert_eq!((provider.requests().len(), refused.len()), (100, 100));
    for response in refused {
        assert_eq!(response.header("svc-aig-error"), Some("2003"));
        assert_eq!(response.header("svc-aig-requests-remaining"), Some("0"));
        assert_eq!(response.header("x-should-retry"), Some("false"));
        assert!(response.header("retry-after").unwrap().parse::<u32>().unwrap() > 0);
    }
}

#[test]
fn money_is_limited_by_team_and_survives_a_restart() {
    let provider = Origin::fixed("application/json", CHAT);
    let folder = tempfile::tempdir().unwrap();
    let prices = r#"{"m-1":{"input_cost_per_token":0.001,"output_cost_per_token":0.01}}"#;
    std::fs::write(folder.path().join("prices.json"), prices).unwrap();
    let limit = "[[gateways.limits]]\nmeasure = \"cost\"\nlimit = 0.25\ninterval = \"365d\"\ntechnique = \"sliding\"\nby = [\"metadata.team\"]\n";
    let conf = format!("model_prices = \"prices.json\"\n{}", conf(&provider, &format!("{GATEWAY}{limit}")));
    let mut edge = Edge::start_in(folder, &conf, &[]);
    let of = |edge: &Edge, team: &str| chat(edge, &format!("svc-aig-metadata: {{\"team\":\"{team}\"}}\r\n"));
    // 19 tokens in and 10 out cost 0.119; at most 10 out are reserved.
    let first = of(&edge, "a");
    assert_eq!(first.status, 200);
    line(&mut edge, &first);
    let second = of(&edge, "a");
    assert_eq!(second.status, 200);
    let left: f64 = second.header("svc-aig-budget-remaining").unwrap().parse().unwrap();
    assert!(left < 0.04, "{left}");
    line(&mut edge, &second);
    let third = of(&edge, "a");
    assert_eq!((third.status, third.header("svc-aig-error")), (429, Some("2045")));
    assert_eq!(third.header("svc-aig-budget-remaining"), Some("0.012000000"));
    assert_eq!(of(&edge, "b").status, 200);
    let id = second.header("svc-aig-log-id").unwrap();
    wait_for("the row to be stored", || request_head_bytes(&edge, id));
    // kill -9: what is counted is recovered from the rows.
    edge.signal("KILL");
    edge.wait_for_exit();
    let folder = std::mem::replace(&mut edge.folder, tempfile::tempdir().unwrap());
    drop(edge);
    let edge = Edge::start_in(folder, &conf, &[]);
    assert_eq!(of(&edge, "a").status, 429);
    assert_eq!(of(&edge, "c").status, 200);
}

#[test]
fn custom_providers_are_public_unless_the_operator_says_otherwise() {
    let provider = Origin::fixed("application/json", CHAT);
    let folder = tempfile::tempdir().unwrap();
    let with = |allow: &str| {
        format!(
            "gateway_hosts = [\"gw.example\"]\n[[listeners]]\naddress = \"127.0.0.1:0\"\n{GATEWAY}[[providers]]\nslug = \"custom-own\"\nbase_url = \"{}\"\n{allow}",
            provider.url()
        )
    };
    let path = folder.path().join("p.toml");
    std::fs::write(&path, with("")).unwrap();
    let checked = run_cli(&["check", "--conf", &path.display().to_string()], b"");
    assert!(!checked.status.success());
    assert!(String::from_utf8_lossy(&checked.stderr).contains("allow_private"));
    let edge = Edge::start(
        &with("allow_private = true\n").replace("[[listeners]]\naddress = \"127.0.0.1:0\"\n", ""),
    );
    assert_eq!(call(&edge, "custom-own/v1/x", "", "{}").status, 200);
}

#[test]
fn a_token_that_is_over_is_refused() {
    let provider = Origin::fixed("application/json", CHAT);
    let mut edge = Edge::start(&conf(&provider, &GATEWAY.replace("false", "true")));
    let make = |expires: &str| {
        let made = run_for_gateway(edge.folder.path(), &["token", "create"], &["--expires", expires], b"");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    };
    let (short, long) = (make("1s"), make("1d"));
    let status =
        |edge: &Edge, token: &str| chat(edge, &format!("svc-aig-authorization: Bearer {token}\r\n")).status;
    wait_for("the long token to be known", || (status(&edge, &long) == 200).then_some(()));
    wait_for("the short token to end", || (status(&edge, &short) == 401).then_some(()));
    let row = edge.wait_for_event("ai_call", |event| event["token_id"].is_string());
    assert!(!row.to_string().contains(&long));
    assert!(edge.folder.path().join("p.toml").exists());
}

#[test]
fn sensitive_data_is_told_and_where_asked_not_forwarded() {
    let card = ["4111", "1111", "1111", "1111"].join("");
    let answer = CHAT.replace("answer-canary", &card);
    let provider = Origin::fixed("application/json", answer.clone());
    let gateways = format!("{GATEWAY}[gateways.sensitive_data]\nrequests = \"log\"\nresponses = \"log\"\n");
    let mut edge = Edge::start(&conf(&provider, &gateways));
    let body = format!("{{\"model\":\"m-1\",\"messages\":[\"my card is {card}\"]}}");
    let response = call(&edge, "openai/v1/chat/completions", "svc-aig-collect-log-payload: false\r\n", &body);
    assert_eq!((response.status, response.text()), (200, answer));
    let row = line(&mut edge, &response);
    let checks: Vec<&str> =
        row["findings"].as_array().unwrap().iter().filter_map(|f| f["check"].as_str()).collect();
    assert_eq!(checks, ["REQUEST", "RESPONSE"]);
    let event = edge.wait_for_event("sensitive_data", |event| event["Action"] == "log");
    assert_eq!(event["Ref"], "financial.credit_card");
    assert!(!edge.log_text().contains(&card), "the value itself is nowhere");
    let blocking = gateways.replace("requests = \"log\"", "requests = \"block\"");
    let mut edge = Edge::start(&conf(&provider, &blocking));
    let served = provider.requests().len();
    for headers in ["", "svc-aig-max-attempts: 2\r\n"] {
        let response = call(&edge, "openai/v1/chat/completions", headers, &body);
        assert_eq!((response.status, response.header("svc-aig-error")), (400, Some("2029")), "{headers}");
        let verdict: Value = serde_json::from_str(response.header("svc-aig-dlp").unwrap()).unwrap();
        assert_eq!(
            (&verdict["action"], &verdict["findings"][0]["check"]),
            (&"BLOCK".into(), &"REQUEST".into())
        );
        assert_eq!(verdict["findings"][0]["profile"]["entry_ids"], json!([event["RuleID"]]));
    }
    // A long one is scanned on another thread.
    let long = format!("{{\"messages\":[\"{} {card}\"]}}", "word ".repeat(10_000));
    assert_eq!(call(&edge, "openai/v1/chat/completions", "", &long).status, 400);
    assert_eq!(provider.requests().len(), served);
    assert_eq!(chat(&edge, "").status, 200);
    edge.wait_for_event("sensitive_data", |event| event["Action"] == "block");
}

#[test]
fn what_was_found_in_a_call_comes_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("payload.key").display().to_string();
    let made = run_cli(&["payload", "keygen", "--out", &key], b"");
    assert!(made.status.success(), "{made:?}");
    let public = String::from_utf8(made.stdout).unwrap();
    let card = ["4111", "1111", "1111", "1111"].join("");
    let provider = Origin::fixed("application/json", CHAT.replace("answer-canary", &card));
    let body = format!("{{\"messages\":[\"my card is {card}\"]}}");
    for (requests, status, findings) in [("log", 200, 2), ("block", 400, 1)] {
        let gateways = format!(
            "{GATEWAY}[gateways.sensitive_data]\nrequests = \"{requests}\"\npayload_key = \"{}\"\n",
            public.trim()
        );
        let mut edge = Edge::start(&conf(&provider, &gateways));
        let response = call(&edge, "openai/v1/chat/completions", "", &body);
        assert_eq!(response.status, status);
        let row = edge.wait_for_event("ai_call", |_| true);
        assert_eq!(row["findings"].as_array().unwrap().len(), findings, "{row}");
        // Each is told once.
        let told = edge.metric("portcullis_detections_total{rule=\"financial.credit_card\"}");
        assert_eq!(told, findings as f64);
        let event = edge.wait_for_event("sensitive_data", |_| true);
        let opened = run_cli(&["payload", "decrypt", "--key", &key], format!("{event}\n").as_bytes());
        assert!(opened.status.success(), "{opened:?}");
        let contents: Value = serde_json::from_slice(&opened.stdout).unwrap();
        assert_eq!(contents["value"], card.as_str());
        assert_eq!(contents["ray"], event["RayID"]);
        assert!(!edge.log_text().contains(&card), "the value itself is nowhere");
    }
}

#[test]
fn stored_keys_reach_their_provider_and_nothing_else() {
    let provider = Origin::fixed("application/json", CHAT);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secrets.key"), "0a".repeat(32)).unwrap();
    let conf = format!("secrets_key_file = \"secrets.key\"\n{}", conf(&provider, GATEWAY));
    let edge = Edge::start_in(folder, &conf, &[]);
    let key = |verb: &str, more: &[&str], input: &[u8]| {
        run_for_gateway(edge.folder.path(), &["key", verb], more, input)
    };
    assert!(key("add", &["--provider", "openai"], b"key-canary-one\n").status.success());
    assert!(
        key("add", &["--provider", "openai", "--alias", "team", "--weight", "3"], b"key-canary-two")
            .status
            .success()
    );
    for (arguments, input) in [
        (&["--provider", "nowhere"], &b"k"[..]),
        (&["--provider", "openai"], b""),
        (&["--provider", "azure-openai"], b"k"),
    ] {
        assert!(!key("add", arguments, input).status.success(), "{arguments:?}");
    }
    let listed = String::from_utf8(key("list", &[], b"").stdout).unwrap();
    assert!(listed.contains("openai team weight 3") && !listed.contains("canary"));
    let sent = |headers: &str| {
        let response = chat(&edge, headers);
        assert_eq!(response.status, 200, "{headers}");
        provider.last().header("authorization").map(str::to_owned)
    };
    // The last that was added: the store may be read between the two.
    let known = || chat(&edge, "svc-aig-byok-alias: team\r\n").status == 200;
    wait_for("the keys to be known", || known().then_some(()));
    for headers in [
        "svc-aig-byok-alias: team\r\n",
        "svc-aig-byok-alias: team\r\nauthorization: Bearer placeholder\r\n",
        "svc-aig-byok-alias: team\r\nsvc-aig-max-attempts: 2\r\n",
    ] {
        assert_eq!(sent(headers).as_deref(), Some("Bearer key-canary-two"), "{headers}");
    }
    // By weight: three of four.
    let taken: Vec<_> = (0..8).map(|_| sent("")).collect();
    assert_eq!(taken.iter().filter(|key| key.as_deref() == Some("Bearer key-canary-two")).count(), 6);
    assert_eq!(sent("authorization: Bearer own\r\n").as_deref(), Some("Bearer own"));
    let unknown = chat(&edge, "svc-aig-byok-alias: other\r\n");
    assert_eq!((unknown.status, unknown.header("svc-aig-error")), (400, Some("2040")));
    assert!(!unknown.text().contains("team"));
    let state = edge.folder.path().join("state");
    let files = ["portcullis.db", "portcullis.db-wal", "records.db", "records.db-wal"];
    let files: Vec<u8> =
        files.iter().flat_map(|name| std::fs::read(state.join(name)).unwrap_or_default()).collect();
    assert!(!holds(&files, "key-canary") && !edge.log_text().contains("key-canary"));
    assert!(key("delete", &["--provider", "openai", "--alias", "team"], b"").status.success());
    wait_for("the key to be gone", || {
        (chat(&edge, "svc-aig-byok-alias: team\r\n").status == 400).then_some(())
    });
    // Another master key opens nothing, and says so.
    std::fs::write(edge.folder.path().join("secrets.key"), "0b".repeat(32)).unwrap();
    let path = edge.folder.path().join("p.toml").display().to_string();
    let refused = run_cli(&["run", "--conf", &path], b"");
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("sealed with another key"));
}

#[test]
fn a_revoked_token_is_refused() {
    let provider = Origin::fixed("application/json", CHAT);
    let edge = Edge::start(&conf(&provider, &GATEWAY.replace("false", "true")));
    let path = edge.folder.path().join("p.toml").display().to_string();
    let made = run_for_gateway(edge.folder.path(), &["token", "create"], &["--name", "ci"], b"");
    let token = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let status = || chat(&edge, &format!("svc-aig-authorization: Bearer {token}\r\n")).status;
    wait_for("the token to be known", || (status() == 200).then_some(()));
    let listed =
        String::from_utf8(run_for_gateway(edge.folder.path(), &["token", "list"], &[], b"").stdout).unwrap();
    let id = listed.split(' ').next().unwrap();
    assert!(listed.contains("ci") && !listed.contains(&token));
    assert!(run_cli(&["token", "revoke", id, "--conf", &path], b"").status.success());
    assert!(!run_cli(&["token", "revoke", id, "--conf", &path], b"").status.success());
    wait_for("the token to be refused", || (status() == 401).then_some(()));
}

#[test]
fn prompts_are_scored_and_never_refused() {
    let provider = Origin::fixed("application/json", CHAT);
    let gateways = format!("{GATEWAY}[gateways.waf]\nparanoia_level = 1\n");
    let mut edge = Edge::start(&conf(&provider, &gateways));
    let mut score = |body: &str| {
        let response = call(&edge, "openai/v1/chat/completions", "", body);
        assert_eq!(response.status, 200);
        let row = line(&mut edge, &response);
        (row["waf_score"].as_i64().unwrap(), row["waf_rules"].as_array().unwrap().len())
    };
    // People ask about code, and send it. What quotes a whole attack scores as one.
    for benign in [
        "Please explain to my team why `SELECT * FROM users WHERE id = '1' OR name = 'x'` is slow.",
        "Fix this:\\n```sh\\nfor f in *.txt; do cat \\\"$f\\\" | grep x; done\\n```\\nthank you",
    ] {
        let body = format!("{{\"messages\":[{{\"role\":\"user\",\"content\":\"{benign}\"}}]}}");
        assert_eq!(score(&body), (0, 0), "{benign}");
    }
    let (sum, rules) =
        score(r#"{"messages":[{"role":"user","content":"1' UNION SELECT password FROM users--"}]}"#);
    assert!(sum >= 5 && rules >= 1);
}

#[test]
fn the_responses_of_a_realtime_connection_are_summed() {
    let provider = Origin::start(|request, stream| {
        let key = request.header("sec-websocket-key").unwrap();
        let accept = tungstenite::handshake::derive_accept_key(key.as_bytes());
        let done = |tokens: u32| {
            format!(
                r#"{{"event_id":"e","type":"response.done","response":{{"model":"m-1","usage":{{"input_tokens":{tokens},"output_tokens":{}}}}}}}"#,
                2 * tokens
            )
        };
        let mut text = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        )
        .into_bytes();
        for message in [done(5), r#"{"type":"response.done.not","usage":{}}"#.to_owned(), done(7)] {
            text.extend([0x81, message.len() as u8 & 0x7F]);
            if message.len() > 125 {
                *text.last_mut().unwrap() = 126;
                text.extend((message.len() as u16).to_be_bytes());
            }
            text.extend(message.as_bytes());
        }
        text.extend([0x88, 0]);
        let _ = stream.write_all(&text);
        // A connection that is closed with bytes unread is reset, and what was sent on it may be lost.
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = std::io::copy(stream, &mut std::io::sink());
        false
    });
    let mut edge = Edge::start(&conf(&provider, GATEWAY));
    let stream = std::net::TcpStream::connect(edge.proxy[0]).unwrap();
    let (mut socket, response) =
        tungstenite::client("ws://gw.example/v1/acme/main/openai/v1/realtime?model=m-1", stream).unwrap();
    assert!(response.headers().contains_key("svc-aig-log-id"));
    let mut seen = 0;
    while let Ok(message) = socket.read() {
        seen += usize::from(message.is_text());
    }
    assert_eq!(seen, 3);
    let row = edge.wait_for_event("ai_call", |_| true);
    let found = (&row["tokens_in"], &row["tokens_out"], &row["status_code"], &row["success"]);
    assert_eq!(found, (&12.into(), &24.into(), &101.into(), &true.into()));
}
