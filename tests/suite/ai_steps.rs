//! Calls that the gateway makes itself: several steps, several attempts, answers that are kept.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use crate::support::{Client, Edge, Origin, Response, run_for_gateway, wait_for};

const CHAT: &str =
    r#"{"model":"m-1","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29}}"#;
const SSE: &str = "data: {\"model\":\"m-1\",\"choices\":[]}\n\ndata: {\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\n";

pub(crate) fn conf(gateway: &str, providers: &[(&str, &Origin)]) -> String {
    let providers: String = providers
        .iter()
        .map(|(slug, origin)| format!("[[providers]]\nslug = \"{slug}\"\nbase_url = \"{}\"\n", origin.url()))
        .collect();
    format!(
        "gateway_hosts = [\"gw.example\"]\n[[gateways]]\naccount = \"acme\"\nid = \"main\"\nauthentication = false\n{gateway}\n{providers}"
    )
}

fn answer(status: &str, fields: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{fields}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Answers with each of these in turn, the last of them for ever.
pub(crate) fn in_turn(answers: Vec<String>) -> Origin {
    let next = AtomicUsize::new(0);
    Origin::start(move |_, stream| {
        let nth = next.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1);
        stream.write_all(answers[nth].as_bytes()).is_ok()
    })
}

pub(crate) fn call(edge: &Edge, path: &str, headers: &str, body: &str) -> Response {
    Client::once(
        edge.proxy[0],
        format!(
            "POST /v1/acme/main{path} HTTP/1.1\r\nHost: gw.example\r\n{headers}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ),
    )
}

pub(crate) const CHAT_PATH: &str = "/openai/v1/chat/completions";

#[test]
fn steps_are_tried_in_order_until_one_succeeds() {
    let broken = in_turn(vec![answer("500 Internal Server Error", "", "{\"error\":1}")]);
    let good = in_turn(vec![answer("200 OK", "X-Provider: b\r\n", CHAT)]);
    let mut edge = Edge::start(&conf("", &[("first", &broken), ("second", &good)]));
    let body = r#"[{"provider":"first","endpoint":"v1/x","headers":{"authorization":"Bearer one"},"query":{"a":1}},
        {"provider":"nowhere","endpoint":"x","query":{}},
        {"provider":"second","endpoint":"/v1/y?z=1","headers":{"x-api-key":"two","svc-aig-event-id":"e"},"query":{ "b" : [1,2] }}]"#;
    let response = call(&edge, "", "authorization: Bearer outer\r\n", body);
    assert_eq!((response.status, response.text().as_str()), (200, CHAT));
    assert_eq!((response.header("svc-aig-step"), response.header("x-provider")), (Some("2"), Some("b")));
    let (first, second) = (broken.last(), good.last());
    assert_eq!((first.path(), first.header("authorization")), ("/v1/x", Some("Bearer one")));
    assert_eq!(second.path(), "/v1/y?z=1");
    assert_eq!(
        (second.body.as_slice(), second.header("x-api-key")),
        (&br#"{ "b" : [1,2] }"#[..], Some("two"))
    );
    assert!(
        second.header("authorization").is_none()
            && !second.headers.iter().any(|(name, _)| name.starts_with("svc-"))
    );
    let row = edge.wait_for_event("ai_call", |event| event["step"] == 2);
    assert_eq!(
        (&row["request_type"], &row["tokens_in"], &row["event_id"]),
        (&"universal".into(), &19.into(), &"e".into())
    );
    let failed = edge.wait_for_event("ai_call", |event| event["step"] == 0);
    assert_eq!((&failed["status_code"], &failed["error"]), (&500.into(), &"fallback".into()));
    // The last step's own error passes.
    let only = call(&edge, "", "", r#"[{"provider":"first","endpoint":"x","query":{}}]"#);
    assert_eq!((only.status, only.text().as_str()), (500, "{\"error\":1}"));
    for bad in ["", "{}", "[]", "[{\"provider\":\"first\"}]"] {
        let refused = call(&edge, "", "", bad);
        assert_eq!((refused.status, refused.header("svc-aig-error")), (400, Some("2000")), "{bad}");
        assert!(refused.header("svc-aig-warning").unwrap().contains("expected"), "{bad}");
    }
    let declared = call(&edge, "/workers-ai/x", "", "{}");
    assert_eq!((declared.status, declared.header("svc-aig-error")), (400, Some("2008")));
    assert!(declared.header("svc-aig-warning").unwrap().contains("base_url"));
    let unknown = call(&edge, "", "", r#"[{"provider":"nowhere","endpoint":"x","query":{}}]"#);
    assert_eq!((unknown.status, unknown.header("svc-aig-error")), (400, Some("2008")));
}

#[test]
fn a_provider_that_keeps_failing_is_left_out_for_a_while() {
    let overloaded = in_turn(vec![answer("503 Service Unavailable", "", "{}")]);
    let good = in_turn(vec![answer("200 OK", "", CHAT)]);
    let mut edge = Edge::start(&conf("", &[("first", &overloaded), ("second", &good)]));
    let both =
        r#"[{"provider":"first","endpoint":"x","query":{}},{"provider":"second","endpoint":"x","query":{}}]"#;
    for _ in 0..5 {
        assert_eq!(call(&edge, "", "", both).header("svc-aig-step"), Some("1"));
    }
    assert_eq!(overloaded.requests().len(), 3);
    let event = edge.wait_for_event("origin_changed", |event| event["up"] == false);
    assert_eq!(event["origin"], overloaded.url());
    // Where there is no other it is asked all the same.
    assert_eq!(call(&edge, "", "", r#"[{"provider":"first","endpoint":"x","query":{}}]"#).status, 503);
    assert_eq!(call(&edge, "/first/x", "", "{}").status, 503);
    assert_eq!(overloaded.requests().len(), 5);

    // It is back as soon as it answers, whatever route asked.
    let mended = in_turn(vec![
        answer("502 Bad Gateway", "", "{}"),
        answer("529 Overloaded", "", "{}"),
        answer("504 Gateway Timeout", "", "{}"),
        answer("400 Bad Request", "", "{}"),
    ]);
    let mut edge = Edge::start(&conf("", &[("first", &mended), ("second", &good)]));
    for expected in [502, 529, 504, 400] {
        assert_eq!(call(&edge, "/first/x", "", "{}").status, expected);
    }
    edge.wait_for_event("origin_changed", |event| event["up"] == true);
    assert_eq!(call(&edge, "", "", both).header("svc-aig-step"), Some("1"));
    assert_eq!(mended.requests().len(), 5);
}

#[test]
fn the_model_names_the_provider() {
    let provider = in_turn(vec![answer("200 OK", "", CHAT)]);
    let edge = Edge::start(&conf("", &[("groq", &provider), ("own", &provider)]));
    let response = call(
        &edge,
        "/compat/chat/completions",
        "authorization: Bearer k\r\n",
        r#"{"messages":[], "model":"groq/llama/x"}"#,
    );
    assert_eq!((response.status, response.text().as_str()), (200, CHAT));
    let seen = provider.last();
    assert_eq!((seen.path(), seen.header("authorization")), ("/chat/completions", Some("Bearer k")));
    assert_eq!(&seen.body[..], br#"{"messages":[], "model":"llama/x"}"#);
    assert_eq!(call(&edge, "/compat/chat/completions", "", r#"{"model":"custom-own/m"}"#).status, 200);
    assert_eq!(call(&edge, "/compat/chat/completions", "", r#"{"model":"m"}"#).status, 400);
}

#[test]
fn a_provider_that_fails_is_asked_again() {
    let failing = || {
        let busy = answer("429 Too Many Requests", "retry-after-ms: 1\r\n", "{}");
        in_turn(vec![answer("500 Internal Server Error", "", "{}"), busy, answer("200 OK", "", CHAT)])
    };
    let provider = failing();
    let edge = Edge::start(&conf("", &[("openai", &provider)]));
    // Without being asked to, nothing is repeated.
    assert_eq!(call(&edge, CHAT_PATH, "", "{}").status, 500);
    let response =
        call(&edge, CHAT_PATH, "svc-aig-max-attempts: 3\r\nsvc-aig-retry-delay: 1\r\n", "{\"a\":1}");
    assert_eq!((response.status, response.text().as_str()), (200, CHAT));
    assert_eq!((provider.requests().len(), provider.last().body), (3, b"{\"a\":1}".to_vec()));
    // As a setting, with a provider that says nothing at first.
    let silent = AtomicUsize::new(0);
    let (release, waiting) = mpsc::channel::<()>();
    let waiting = Mutex::new(waiting);
    let slow = Origin::start(move |_, stream| {
        if silent.fetch_add(1, Ordering::Relaxed) == 0 {
            let _ = waiting.lock().unwrap().recv();
            return false;
        }
        stream.write_all(answer("200 OK", "", CHAT).as_bytes()).is_ok()
    });
    let settings = "retry_max_attempts = 2\nretry_delay = \"1ms\"\nretry_backoff = \"exponential\"\nrequest_timeout = \"1s\"";
    let edge = Edge::start(&conf(settings, &[("openai", &slow)]));
    assert_eq!(call(&edge, CHAT_PATH, "", "{}").status, 200);
    assert_eq!(slow.requests().len(), 2);
    drop(release);
    // 4xx of the caller's making is not repeated.
    let refusing = in_turn(vec![answer("400 Bad Request", "", "{}"), answer("200 OK", "", CHAT)]);
    let edge = Edge::start(&conf(settings, &[("openai", &refusing)]));
    assert_eq!(call(&edge, CHAT_PATH, "", "{}").status, 400);
}

#[test]
fn answers_are_kept_for_the_same_caller() {
    let provider = in_turn(vec![answer("200 OK", "", CHAT)]);
    let mut edge = Edge::start(&conf("cache_ttl = \"1h\"", &[("openai", &provider)]));
    let ask = |headers: &str, body: &str| {
        let response = call(&edge, CHAT_PATH, headers, body);
        assert_eq!((response.status, response.text().as_str()), (200, CHAT));
        (response.header("svc-aig-cache-status").map(str::to_owned), response)
    };
    let hit = Some("HIT".to_owned());
    let miss = Some("MISS".to_owned());
    assert_eq!(ask("authorization: a\r\n", "{}").0, miss);
    let (status, response) = ask("authorization: a\r\n", "{}");
    assert_eq!(status, hit);
    assert_eq!(ask("authorization: b\r\n", "{}").0, miss, "another's key");
    assert_eq!(ask("authorization: a\r\n", "{ }").0, miss, "another question");
    assert_eq!(ask("authorization: a\r\nsvc-aig-skip-cache: true\r\n", "{}").0, miss);
    assert_eq!(ask("authorization: a\r\nsvc-aig-cache-ttl: 0\r\n", "{}").0, None);
    assert_eq!(ask("svc-aig-cache-key: k\r\n", "{\"n\":1}").0, miss);
    assert_eq!(ask("svc-aig-cache-key: k\r\n", "{\"n\":2}").0, miss, "a name joins no questions");
    assert_eq!(ask("svc-aig-cache-key: k\r\n", "{\"n\":2}").0, hit);
    assert_eq!(provider.requests().len(), 7);
    let id = response.header("svc-aig-log-id").unwrap().to_owned();
    let row = edge.wait_for_event("ai_call", |event| event["id"] == id.as_str());
    assert_eq!(
        (&row["cached"], &row["cost"], &row["tokens_in"]),
        (&true.into(), &0.0.into(), &serde_json::Value::Null)
    );
}

#[test]
fn kept_answers_end_with_a_change_of_their_gateway_if_it_says_so() {
    let provider = in_turn(vec![answer("200 OK", "", CHAT)]);
    let gateway = |settings: &str| conf(&format!("cache_ttl = \"1h\"\n{settings}"), &[("openai", &provider)]);
    for (setting, expected) in [("false", "HIT"), ("true", "MISS")] {
        let setting = format!("cache_invalidate_on_update = {setting}\n");
        let edge = Edge::start(&gateway(&setting));
        let revision = || edge.metric("portcullis_snapshot_revision") as u64;
        let before = revision();
        let ask =
            |edge: &Edge| call(edge, CHAT_PATH, "", "{}").header("svc-aig-cache-status").unwrap().to_owned();
        assert_eq!([ask(&edge), ask(&edge)], ["MISS", "HIT"], "{setting}");
        // What it changes is of no matter: here how rows are kept.
        edge.rewrite(&gateway(&format!("{setting}collect_log_payloads = false\n")));
        wait_for("the change", || (revision() > before).then_some(()));
        assert_eq!([ask(&edge), ask(&edge)], [expected, "HIT"], "{setting}");
    }
}

#[test]
fn identical_questions_at_once_are_asked_once_and_streams_stay_streams() {
    let (release, waiting) = mpsc::channel::<()>();
    let waiting = Mutex::new(waiting);
    let provider = Origin::start(move |_, stream| {
        let _ = waiting.lock().unwrap().recv();
        let mut text =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
                .to_owned();
        for event in SSE.split_inclusive("\n\n") {
            text.push_str(&format!("{:x}\r\n{event}\r\n", event.len()));
        }
        text.push_str("0\r\n\r\n");
        stream.write_all(text.as_bytes()).is_ok()
    });
    let edge = Edge::start(&conf("cache_ttl = \"1h\"", &[("openai", &provider)]));
    let responses: Vec<Response> = std::thread::scope(|scope| {
        let calls: Vec<_> =
            (0..20).map(|_| scope.spawn(|| call(&edge, CHAT_PATH, "", "{\"stream\":true}"))).collect();
        wait_for("the question to be asked", || (!provider.requests().is_empty()).then_some(()));
        release.send(()).unwrap();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    for response in &responses {
        assert_eq!((response.status, response.text().as_str()), (200, SSE));
        assert_eq!(response.header("content-type"), Some("text/event-stream"));
    }
    assert_eq!(provider.requests().len(), 1);
    let hits =
        responses.iter().filter(|response| response.header("svc-aig-cache-status") == Some("HIT")).count();
    assert_eq!(hits, 19);
}

#[test]
fn a_client_that_goes_away_ends_the_call_at_the_provider() {
    for headers in ["", "svc-aig-max-attempts: 2\r\n"] {
        let (closed, ended) = mpsc::channel();
        let closed = Mutex::new(closed);
        let provider = Origin::start(move |_, stream| {
            // Nothing is answered; the end of the connection is waited for.
            let outcome = stream.read(&mut [0; 1]);
            let _ = closed.lock().unwrap().send(matches!(outcome, Ok(0) | Err(_)));
            false
        });
        let edge = Edge::start(&conf("", &[("openai", &provider)]));
        let mut client = Client::connect(edge.proxy[0]);
        client.send(format!(
            "POST /v1/acme/main{CHAT_PATH} HTTP/1.1\r\nHost: gw.example\r\n{headers}Content-Length: 2\r\n\r\n{{}}"
        ));
        wait_for("the provider to be asked", || (!provider.requests().is_empty()).then_some(()));
        drop(client);
        assert!(ended.recv().unwrap(), "{headers:?}");
        edge.wait_for_metric("portcullis_gateway_requests_total{gateway=\"acme/main\",outcome=\"cancelled\",provider=\"openai\"}", 1.0);
    }
}

#[test]
fn an_answer_that_breaks_off_is_never_a_clean_end() {
    let provider = Origin::start(|_, stream| {
        let text = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n6\r\ndata: \r\n";
        let _ = stream.write_all(text.as_bytes());
        false
    });
    let mut edge = Edge::start(&conf("cache_ttl = \"1h\"", &[("openai", &provider)]));
    for _ in 0..2 {
        let mut client = Client::connect(edge.proxy[0]);
        client.send(format!(
            "POST /v1/acme/main{CHAT_PATH} HTTP/1.1\r\nHost: gw.example\r\nContent-Length: 2\r\n\r\n{{}}"
        ));
        let text = String::from_utf8(client.receive_all()).unwrap();
        assert!(text.contains("data: ") && !text.ends_with("0\r\n\r\n"), "{text}");
    }
    assert_eq!(provider.requests().len(), 2, "what broke off is not kept");
    edge.wait_for_event("ai_call", |event| event["error"] == "truncated");
}

#[test]
fn a_provider_that_cannot_be_reached_is_said_so() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let good = Arc::new(in_turn(vec![answer("200 OK", "", CHAT)]));
    let conf = conf("retry_max_attempts = 2", &[("second", &good)])
        + &format!("[[providers]]\nslug = \"openai\"\nbase_url = \"http://127.0.0.1:{port}\"\n");
    let edge = Edge::start(&conf);
    let response = call(&edge, CHAT_PATH, "", "{}");
    assert_eq!((response.status, response.header("svc-aig-error")), (502, Some("2005")));
    let fallen_back = call(
        &edge,
        "",
        "",
        r#"[{"provider":"openai","endpoint":"x","query":{}},{"provider":"second","endpoint":"x","query":{}}]"#,
    );
    assert_eq!((fallen_back.status, fallen_back.header("svc-aig-step")), (200, Some("1")));
}

#[test]
fn the_compatible_endpoint_takes_a_gateway_token_as_the_key() {
    let provider = in_turn(vec![answer("200 OK", "", CHAT)]);
    let conf = conf("", &[("groq", &provider)]).replace("authentication = false", "authentication = true");
    let edge = Edge::start(&conf);
    let made = run_for_gateway(edge.folder.path(), &["token", "create"], &[], b"");
    let token = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let body = r#"{"messages":[], "model":"groq/x"}"#;
    let (compatible, key) = ("/compat/chat/completions", format!("authorization: Bearer {token}\r\n"));
    wait_for("the token to be known", || (call(&edge, compatible, &key, body).status == 200).then_some(()));
    assert_eq!(provider.last().header("authorization"), None, "it is not for the provider");
    // A token of its own beside it: the key is the provider's.
    let both = format!("svc-aig-authorization: Bearer {token}\r\nauthorization: Bearer k\r\n");
    assert_eq!(call(&edge, compatible, &both, body).status, 200);
    assert_eq!(provider.last().header("authorization"), Some("Bearer k"));
    let before = provider.requests().len();
    for (path, key) in [
        ("/groq/chat/completions", key.as_str()),
        (compatible, "authorization: Bearer svcgw_0123\r\n"),
        (compatible, "authorization: Bearer k\r\n"),
        (compatible, ""),
    ] {
        assert_eq!(call(&edge, path, key, body).status, 401, "{path} {key}");
    }
    assert_eq!(provider.requests().len(), before);
}

#[test]
fn requests_to_aws_are_signed_with_the_stored_key() {
    let provider = in_turn(vec![answer("200 OK", "", CHAT)]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secrets.key"), "0a".repeat(32)).unwrap();
    let conf = format!("secrets_key_file = \"secrets.key\"\n{}", conf("", &[("aws-bedrock", &provider)]));
    let edge = Edge::start_in(folder, &conf, &[]);
    let key = "{\n  \"accessKeyId\": \"AKIDEXAMPLE\",\n  \"secretAccessKey\": \"secret-canary\",\n  \"region\": \"eu-west-1\"\n}\n";
    let of_provider = ["--provider", "aws-bedrock"];
    let added = run_for_gateway(edge.folder.path(), &["key", "add"], &of_provider, key.as_bytes());
    assert!(added.status.success());
    let target = "/aws-bedrock/model/anthropic.claude-v2:1/converse?a=b";
    let authorization = |fields: &str, body: &str| {
        assert_eq!(call(&edge, target, fields, body).status, 200);
        provider.last().header("authorization").unwrap_or("").to_owned()
    };
    wait_for("the key to be known", || {
        authorization("", "{}").starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/").then_some(())
    });
    let signed = authorization("", "{\"a\":1}");
    assert!(signed.contains("/eu-west-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date, "));
    let seen = provider.last();
    assert_eq!(seen.path(), "/model/anthropic.claude-v2%3A1/converse?a=b");
    assert_eq!((&seen.body[..], seen.header("x-amz-date").map(str::len)), (&b"{\"a\":1}"[..], Some(16)));
    assert_ne!(authorization("", "{\"a\":2}"), signed);
    // Who signs himself is let through as he is.
    assert_eq!(authorization("authorization: AWS4-HMAC-SHA256 own\r\n", "{}"), "AWS4-HMAC-SHA256 own");
    assert_eq!(provider.last().path(), "/model/anthropic.claude-v2:1/converse?a=b");
    assert!(!edge.log_text().contains("canary"));
}
