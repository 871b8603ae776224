//! `[gateways.guardrail]`: what is asked of providers is judged by a service before they hear of it.

use std::io::{Read as _, Write as _};

use serde_json::{Value, json};

use crate::ai_calls::{CHAT, GATEWAY, call, conf, request};
use crate::support::{Api, Client, Edge, Origin, gzip, refused_by_check};

const PATH: &str = "openai/v1/chat/completions";

/// A service that judges by words in what it is asked.
fn judge() -> Origin {
    Origin::start(|request, stream| {
        let text = String::from_utf8_lossy(&request.body).into_owned();
        let (status, answer) = match () {
            () if text.contains("forbidden") => {
                (200, json!({"action": "block", "reason": "not about \"that\"\u{1}"}).to_string())
            }
            () if text.contains("unwell") => (500, json!({"action": "allow"}).to_string()),
            () if text.contains("nonsense") => (200, "allow".to_owned()),
            () if text.contains("another-word") => (200, json!({"action": "perhaps"}).to_string()),
            () if text.contains("talkative") => {
                (200, json!({"action": "allow", "x": "y".repeat(100_000)}).to_string())
            }
            () if text.contains("silent") => {
                // Until the edge does not wait any more.
                let _ = stream.read(&mut [0]);
                return false;
            }
            () if text.contains("hangs-up") => return false,
            () => (200, json!({"action": "allow"}).to_string()),
        };
        let length = answer.len();
        write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n\r\n{answer}").is_ok()
    })
}

fn edge(provider: &Origin, judge: &str, settings: &str) -> Edge {
    let guardrail = format!(
        "{GATEWAY}[gateways.guardrail]\nurl = \"{judge}/judge?for=edge\"\nauthorization = \"Bearer own\"\ntimeout = \"2s\"\n{settings}"
    );
    Edge::start(&conf(provider, &guardrail))
}

fn body(text: &str) -> String {
    // As no program would write it, so that a change shows.
    format!("{{ \"model\":\"m-1\",\"messages\":[ {{\"role\":\"user\",\"content\":\"{text}\"}} ] ,\"n\":1.0}}")
}

#[test]
fn what_the_guardrail_allows_goes_on_untouched() {
    let (provider, judge) = (Origin::fixed("application/json", CHAT), judge());
    let edge = edge(&provider, &judge.url(), "");
    for text in ["hello", &"x".repeat(100_000)] {
        let sent = body(text);
        let fields = "Authorization: Bearer provider-key\r\nsvc-aig-metadata: {\"team\":\"a\"}\r\n";
        let answer = call(&edge, PATH, fields, &sent);
        assert_eq!((answer.status, answer.text().as_str()), (200, CHAT));
        assert_eq!(provider.last().body, sent.as_bytes(), "not a byte is changed");
        let asked = judge.last();
        assert_eq!(asked.line, "POST /judge?for=edge HTTP/1.1");
        assert_eq!(asked.header("authorization"), Some("Bearer own"), "and not the key of the provider");
        let told: Value = serde_json::from_slice(&asked.body).unwrap();
        let of = |name: &str| told[name].as_str().unwrap().to_owned();
        assert_eq!(
            (of("stage"), of("account"), of("gateway"), of("provider"), of("path")),
            ("request".into(), "acme".into(), "main".into(), "openai".into(), "/v1/chat/completions".into())
        );
        assert_eq!(
            (&told["body"]["messages"][0]["content"], &told["metadata"]),
            (&json!(text), &json!({"team": "a"}))
        );
        assert!(!String::from_utf8_lossy(&asked.body).contains("provider-key"));
    }
    // What is no JSON is judged as text, and what only reads is not judged.
    let before = judge.requests().len();
    assert_eq!(call(&edge, "openai/v1/files", "", "plain words").status, 200);
    let told: Value = serde_json::from_slice(&judge.last().body).unwrap();
    assert_eq!((&told["body"], &told["text"]), (&Value::Null, &json!("plain words")));
    let read = Client::once(
        edge.proxy[0],
        "GET /v1/acme/main/openai/v1/models HTTP/1.1\r\nHost: gw.example\r\nConnection: close\r\n\r\n",
    );
    assert_eq!((read.status, judge.requests().len()), (200, before + 1));
    for (settings, expected) in [
        ("url = \"ftp://a.example\"\n", "gateways.guardrail.url"),
        ("url = \"http://a.example\"\nauthorization = \"a\\nb\"\n", "authorization"),
        ("url = \"http://a.example\"\non_failure = \"ask\"\n", "expected one of `block`, `pass`"),
        ("timeout = \"1s\"\n", "`gateways.guardrail.url` is missing"),
    ] {
        let refused =
            refused_by_check(&conf(&provider, &format!("{GATEWAY}[gateways.guardrail]\n{settings}")));
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn no_form_of_a_call_gets_past_the_guardrail() {
    let (provider, judge) = (Origin::fixed("application/json", CHAT), judge());
    let mut edge = edge(&provider, &judge.url(), "");
    let forbidden = body("forbidden");
    let answer = call(&edge, PATH, "", &forbidden);
    assert_eq!(
        (answer.status, answer.header("svc-aig-error"), answer.header("x-should-retry")),
        (424, Some("2016"), Some("false"))
    );
    assert_eq!(answer.header("svc-aig-warning"), Some("not about \"that\""), "as a field can have it");
    assert!(answer.text().contains("Prompt blocked"), "{}", answer.text());
    // Its row tells of it.
    edge.wait_for_event("ai_call", |row| row["status_code"] == 424);
    // Coded, in chunks, by the compatible endpoint, as a universal request, as the step behind one that fails.
    let coded = gzip(&forbidden);
    let head = format!(
        "POST /v1/acme/main/{PATH} HTTP/1.1\r\nHost: gw.example\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        coded.len()
    );
    assert_eq!(Client::once(edge.proxy[0], [head.as_bytes(), &coded].concat()).status, 424);
    let chunks = format!(
        "POST /v1/acme/main/{PATH} HTTP/1.1\r\nHost: gw.example\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n{:x}\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n",
        50,
        &forbidden[..50],
        forbidden.len() - 50,
        &forbidden[50..]
    );
    assert_eq!(Client::once(edge.proxy[0], chunks).status, 424);
    let compatible = forbidden.replace("m-1", "openai/m-1");
    assert_eq!(call(&edge, "compat/chat/completions", "", &compatible).status, 424);
    let step = |provider: &str| {
        format!("{{\"provider\":\"{provider}\",\"endpoint\":\"v1/chat/completions\",\"query\":{forbidden}}}")
    };
    for steps in [format!("[{}]", step("openai")), format!("[{},{}]", step("gone"), step("openai"))] {
        let universal = request("", "", &steps).replacen("/v1/acme/main/", "/v1/acme/main", 1);
        assert_eq!(Client::once(edge.proxy[0], universal).status, 424, "{steps}");
    }
    // A coding that cannot be undone cannot be judged, nor can what comes over a WebSocket.
    assert_eq!(call(&edge, PATH, "Content-Encoding: lzma\r\n", &forbidden).status, 400);
    let socket = "GET /v1/acme/main/openai/v1/realtime HTTP/1.1\r\nHost: gw.example\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\
                  Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    assert_eq!(Client::once(edge.proxy[0], socket).status, 424);
    assert!(provider.begun().is_empty(), "no provider heard of any of these: {:?}", provider.begun());
}

#[test]
fn a_guardrail_that_fails_lets_nothing_pass_unless_it_is_told_to() {
    let (provider, judge) = (Origin::fixed("application/json", CHAT), judge());
    let failing = ["unwell", "nonsense", "another-word", "talkative", "silent", "hangs-up"];
    let closed = edge(&provider, &judge.url(), "");
    for word in failing {
        let answer = call(&closed, PATH, "", &body(word));
        assert_eq!((answer.status, answer.header("svc-aig-error")), (503, Some("7013")), "{word}");
    }
    assert!(provider.begun().is_empty());
    let away = edge(&provider, "http://127.0.0.1:1", "");
    assert_eq!(call(&away, PATH, "", &body("hello")).status, 503);
    let open = edge(&provider, &judge.url(), "on_failure = \"pass\"\n");
    for word in failing {
        assert_eq!(call(&open, PATH, "", &body(word)).status, 200, "{word}");
    }
    assert_eq!(call(&open, PATH, "", &body("forbidden")).status, 424, "what it says still holds");
    // Connections that were kept and closed by the service are opened anew.
    for _ in 0..3 {
        assert_eq!(call(&closed, PATH, "", &body("hello")).status, 200);
    }
}

/// An edge whose gateways come over the API.
pub(crate) fn api_conf(provider: &Origin, before: &str, of_admin: &str) -> String {
    let providers = conf(provider, "").replace("gateway_hosts", &format!("{before}gateway_hosts"));
    format!("{providers}[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"api-token\"]\n{of_admin}")
}

#[test]
fn guardrails_are_set_over_the_api() {
    let (provider, judge) = (Origin::fixed("application/json", CHAT), judge());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secrets.key"), "0a".repeat(32)).unwrap();
    let secrets = "secrets_key_file = \"secrets.key\"\n";
    let edge = Edge::start_in(folder, &api_conf(&provider, secrets, "private_webhooks = true\n"), &[]);
    let api = Api::new(&edge, "api-token");
    let gateways = "/accounts/acme/ai-gateway/gateways";
    let one = format!("{gateways}/main");
    let guardrail = json!({"url": format!("{}/judge?for=edge", judge.url()), "authorization": "Bearer own", "timeout": 500});
    let made = api.post(gateways, &json!({"id": "main", "authentication": false, "guardrail": guardrail}));
    let shown = json!({
        "url": guardrail["url"], "has_authorization": true, "timeout": 500, "on_failure": "block", "stages": ["request"]
    });
    assert_eq!(made["guardrail"], shown, "and never the secret");
    assert_eq!(call(&edge, PATH, "", &body("hello")).status, 200);
    assert_eq!(judge.last().header("authorization"), Some("Bearer own"));
    assert_eq!(call(&edge, PATH, "", &body("forbidden")).status, 424);
    // What is not named stays; the secret, too, but only at its host.
    let changed = api.result("PATCH", &one, &json!({"collect_logs": false}));
    assert_eq!(changed["guardrail"], shown);
    let read_back = api.get(&one);
    let replaced = api.result("PUT", &one, &read_back);
    assert_eq!(replaced["guardrail"], shown);
    assert_eq!(call(&edge, PATH, "", &body("hello")).status, 200);
    assert_eq!(judge.last().header("authorization"), Some("Bearer own"));
    let without = json!({"authentication": false});
    assert_eq!(
        api.result("PUT", &one, &without)["guardrail"],
        Value::Null,
        "what a PUT does not have is gone"
    );
    api.result("PATCH", &one, &json!({"guardrail": guardrail}));
    let passes = json!({"guardrail": {"url": format!("{}/judge", judge.url()), "on_failure": "pass", "stages": ["request", "response"]}});
    assert_eq!(api.result("PATCH", &one, &passes)["guardrail"]["has_authorization"], json!(true));
    assert_eq!(call(&edge, PATH, "", &body("unwell")).status, 200);
    let other = self::judge();
    let elsewhere = json!({"guardrail": {"url": format!("{}/judge", other.url())}});
    assert_eq!(api.result("PATCH", &one, &elsewhere)["guardrail"]["has_authorization"], json!(false));
    assert_eq!(call(&edge, PATH, "", &body("hello")).status, 200);
    assert_eq!(other.last().header("authorization"), None);
    for bad in [
        json!({}),
        json!({"url": "ftp://a.example"}),
        json!({"url": "http://a.example", "timeout": 0}),
        json!({"url": "http://a.example", "stages": []}),
        json!({"url": "http://a.example", "stages": ["prompt"]}),
        json!({"url": "http://a.example", "on_failure": "ask"}),
        json!({"url": "http://a.example", "authorization": "a\nb"}),
        json!("http://a.example"),
    ] {
        assert_eq!(api.call("PATCH", &one, &json!({"guardrail": bad})).0, 400, "{bad}");
    }
    assert_eq!(api.result("PATCH", &one, &json!({"guardrail": null}))["guardrail"], Value::Null);
    let asked = other.requests().len();
    assert_eq!((call(&edge, PATH, "", &body("forbidden")).status, other.requests().len()), (200, asked));
    // It is there after a restart, and sealed in the store.
    api.result("PATCH", &one, &json!({"guardrail": guardrail}));
    let state: Vec<u8> = std::fs::read_dir(edge.folder.path().join("state"))
        .unwrap()
        .flat_map(|file| std::fs::read(file.unwrap().path()).unwrap_or_default())
        .collect();
    assert!(
        memchr::memmem::find(&state, b"Bearer own").is_none()
            && memchr::memmem::find(&state, b"/judge?for").is_some()
    );
}

#[test]
fn guardrails_of_the_api_need_a_key_to_seal_with_and_a_public_address() {
    let (provider, judge) = (Origin::fixed("application/json", CHAT), judge());
    let edge = Edge::start(&api_conf(&provider, "", ""));
    let api = Api::new(&edge, "api-token");
    let gateways = "/accounts/acme/ai-gateway/gateways";
    let open = json!({"url": format!("{}/judge", judge.url())});
    let mut guardrail = open.clone();
    guardrail["authorization"] = json!("Bearer own");
    let refused = api.refused("POST", gateways, &json!({"id": "main", "guardrail": guardrail}));
    assert_eq!(refused, (409, vec![10018]));
    api.post(gateways, &json!({"id": "main", "authentication": false, "guardrail": open}));
    let answer = call(&edge, PATH, "", &body("hello"));
    assert_eq!((answer.status, answer.header("svc-aig-error")), (503, Some("7013")));
    assert!(judge.begun().is_empty() && provider.begun().is_empty());
}
