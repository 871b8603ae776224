//! Policies for sensitive data in calls of a gateway: what is held back, what is flagged, and in which form it comes.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::ai_calls::{CHAT, GATEWAY, call, conf};
use crate::support::{Api, Client, Edge, Origin, Response, gzip, refused_by_check};

const PATH: &str = "openai/v1/chat/completions";
const ASKED: &str = "{\"model\":\"m-1\",\"messages\":[]}";
const GATEWAYS: &str = "/accounts/acme/ai-gateway/gateways";
const MAIN: &str = "/accounts/acme/ai-gateway/gateways/main";
const BLOCKING: &str = "[gateways.sensitive_data]\nrequests = \"off\"\nresponses = \"block\"\n";

fn card() -> String {
    ["4111", "1111", "1111", "1111"].concat()
}

fn key() -> String {
    ["sk-", "ant-", "api03-", &"aB3dE6gH9jK2mN5p".repeat(6)].concat()[..108].to_owned()
}

/// A stream whose text is one of these, a few bytes in each event.
fn stream_of(text: &str) -> String {
    let pieces = text.as_bytes().chunks(3).map(|piece| String::from_utf8_lossy(piece).into_owned());
    let event = |piece| {
        let chunk = json!({"id": "c-1", "choices": [{"index": 0, "delta": {"content": piece}}]});
        format!("data: {chunk}\n\n")
    };
    pieces.map(event).collect::<String>() + "data: [DONE]\n\n"
}

/// Forms of an answer: media type, coding and body.
fn answer(form: &str, text: &str) -> (&'static str, &'static str, Vec<u8>) {
    let json = "application/json";
    let chat = CHAT.replace("answer-canary", text);
    match form {
        "json" => (json, "", chat.into_bytes()),
        "escaped" => (json, "", chat.replace('1', "\\u0031").into_bytes()),
        "gzip" => (json, "gzip", gzip(chat)),
        "stream" => ("text/event-stream", "", stream_of(text).into_bytes()),
        "mislabelled" => ("text/plain", "", stream_of(text).into_bytes()),
        "two-answers" => {
            // The other answer comes between the pieces, and each says only behind its text which it is.
            let piece = |piece: &str, index: u32| json!({"candidates": [{"content": {"parts": [{"text": piece}]}, "index": index}]});
            let pieces = text.as_bytes().chunks(3).map(|piece| String::from_utf8_lossy(piece).into_owned());
            let events = pieces.flat_map(|one| [piece(&one, 0), piece("and ", 1)]);
            let events: String = events.map(|event| format!("data: {event}\n\n")).collect();
            ("text/event-stream", "", events.into_bytes())
        }
        "stream-gzip" => ("text/event-stream; charset=utf-8", "gzip", gzip(stream_of(text))),
        "lines" => {
            let lines =
                text.as_bytes().chunks(3).map(|piece| json!({"response": String::from_utf8_lossy(piece)}));
            (
                "application/x-ndjson",
                "",
                lines.map(|line| format!("{line}\n")).collect::<String>().into_bytes(),
            )
        }
        "list" => {
            let items = text.as_bytes().chunks(3).map(|piece| {
                json!({"candidates": [{"content": {"parts": [{"text": String::from_utf8_lossy(piece)}]}}]})
            });
            (json, "", json!(items.collect::<Vec<_>>()).to_string().into_bytes())
        }
        "text" => ("text/plain", "", text.as_bytes().to_vec()),
        "long" => (
            json,
            "",
            chat.replace("\"choices\"", &format!("\"note\":\"{}\",\"choices\"", "word ".repeat(40_000)))
                .into_bytes(),
        ),
        other => panic!("{other}"),
    }
}

const FORMS: &[&str] = &[
    "json",
    "escaped",
    "gzip",
    "stream",
    "stream-gzip",
    "mislabelled",
    "two-answers",
    "lines",
    "list",
    "text",
    "long",
];

/// Answers in the form of the field `X-Form`, with the text of `X-Text`.
fn provider() -> Origin {
    Origin::start(|request, stream| {
        let form = request.header("x-form").unwrap_or("json");
        let text = format!("the number is {} as you asked", request.header("x-text").unwrap_or("forty-two"));
        let (media_type, coding, body) = match form {
            "unreadable" => ("application/json", "x-own", text.into_bytes()),
            form => answer(form, &text),
        };
        let coding =
            if coding.is_empty() { String::new() } else { format!("content-encoding: {coding}\r\n") };
        let coding = if form == "unreadable" { "content-encoding: x-own\r\n".to_owned() } else { coding };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\n{coding}content-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), &body].concat()).is_ok()
    })
}

fn ask(edge: &Edge, form: &str, text: &str, fields: &str) -> Response {
    call(edge, PATH, &format!("X-Form: {form}\r\nX-Text: {text}\r\n{fields}"), ASKED)
}

/// Action, checks and policies of the field `svc-aig-dlp`.
fn told(response: &Response) -> (Value, Vec<Value>, Vec<Value>) {
    let field: Value = serde_json::from_str(response.header("svc-aig-dlp").unwrap_or("null")).unwrap();
    let findings = field["findings"].as_array().cloned().unwrap_or_default();
    let of = |member: &str| findings.iter().map(|finding| finding[member].clone()).collect();
    (field["action"].clone(), of("check"), of("policy_ids"))
}

#[test]
fn an_answer_with_sensitive_data_is_held_back_in_every_form() {
    let provider = provider();
    for settings in [
        "",
        "cache_ttl = \"60s\"\n",
        "include_usage = true\nheartbeat = \"1s\"\n",
        "retry_max_attempts = 2\n",
    ] {
        let mut edge = Edge::start(&conf(&provider, &format!("{GATEWAY}{settings}{BLOCKING}")));
        for form in FORMS {
            let clean = ask(&edge, form, "forty-two", "");
            let (_, _, expected) = answer(form, "the number is forty-two as you asked");
            assert_eq!((clean.status, clean.body == expected), (200, true), "{form} {settings}");
            assert_eq!(clean.header("svc-aig-dlp"), None);
            for again in 0..2 {
                let held = ask(&edge, form, &card(), "");
                assert_eq!(
                    (held.status, held.header("svc-aig-error")),
                    (400, Some("2030")),
                    "{form} {settings}{again}"
                );
                assert_eq!(told(&held), (json!("BLOCK"), vec![json!("RESPONSE")], vec![json!([])]));
                assert!(!held.text().contains("the number"), "no byte of it comes");
            }
        }
        let unread = ask(&edge, "unreadable", "forty-two", "");
        assert_eq!((unread.status, unread.header("svc-aig-error")), (400, Some("2030")), "{settings}");
        let row = edge.wait_for_event("ai_call", |row| row["findings"][0]["check"] == "RESPONSE");
        assert_eq!(
            (&row["findings"][0]["rule"], &row["status_code"]),
            (&json!("financial.credit_card"), &json!(400))
        );
        edge.wait_for_event("sensitive_data", |event| event["Action"] == "block");
        assert!(!edge.log_text().contains(&card()), "the value itself is nowhere");
    }
}

#[test]
fn other_ways_to_an_answer_are_held_back_too() {
    let provider = provider();
    let edge = Edge::start(&conf(&provider, &format!("{GATEWAY}{BLOCKING}")));
    let fields = format!("X-Form: stream\r\nX-Text: {}\r\n", card());
    let compatible = "{\"model\":\"openai/m-1\",\"messages\":[]}";
    assert_eq!(call(&edge, "compat/chat/completions", &fields, compatible).status, 400);
    let step = |text: &str| {
        json!({"provider": "openai", "endpoint": "v1/chat/completions", "query": {"model": "m-1"},
               "headers": {"x-form": "stream", "x-text": text}})
    };
    let steps = json!([step(&card()), step("forty-two")]).to_string();
    let held = call(&edge, "", "", &steps);
    assert_eq!((held.status, held.header("svc-aig-error")), (400, Some("2030")), "no other step hides it");
    let asked = provider.requests().len();
    let mut client = Client::connect(edge.proxy[0]);
    client.send(
        "GET /v1/acme/main/openai/v1/realtime HTTP/1.1\r\nHost: gw.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    assert_eq!(client.receive().map(|response| response.status), Some(400), "what never ends cannot be held");
    assert_eq!(provider.requests().len(), asked);
}

#[test]
fn what_is_only_logged_is_found_in_streams_too() {
    let provider = provider();
    let logging = BLOCKING.replace("block", "log");
    let mut edge = Edge::start(&conf(&provider, &format!("{GATEWAY}{logging}")));
    for form in FORMS {
        let passed = ask(&edge, form, &card(), "");
        assert_eq!(
            (passed.status, passed.header("svc-aig-dlp")),
            (200, None),
            "{form}: nothing waits for the scan"
        );
        let id = passed.header("svc-aig-log-id").unwrap().to_owned();
        let row = edge.wait_for_event("ai_call", |row| row["id"] == id.as_str());
        assert_eq!(row["findings"][0]["rule"], "financial.credit_card", "{form}: {row}");
    }
    assert_eq!(FORMS.len(), 11);
}

#[test]
fn policies_flag_and_block_by_kind_and_direction() {
    let provider = provider();
    let folder = tempfile::tempdir().unwrap();
    let before = conf(&provider, "");
    let admin = "[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"api-token\"]\n";
    let mut edge = Edge::start_in(folder, &format!("{before}{admin}"), &[]);
    let api = Api::new(&edge, "api-token");
    let policy = |id: &str, action: &str, check: Value, profiles: Value| json!({"id": id, "enabled": true, "action": action, "check": check, "profiles": profiles});
    let both = json!(["REQUEST", "RESPONSE"]);
    let dlp = json!({"enabled": true, "policies": [
        policy("keys", "BLOCK", json!(["REQUEST"]), json!(["credential"])),
        policy("cards", "FLAG", both.clone(), json!(["financial.credit_card", "national-id"])),
        policy("leaks", "BLOCK", json!(["RESPONSE"]), json!(["leak"])),
    ]});
    let made = api.post(GATEWAYS, &json!({"id": "main", "authentication": false, "dlp": dlp}));
    assert_eq!(made["dlp"], dlp);
    let say = |edge: &Edge, text: &str, fields: &str| {
        call(edge, PATH, fields, &json!({"model": "m-1", "messages": [text]}).to_string())
    };
    let (card, key) = (card(), key());
    let flagged = say(&edge, &format!("my card is {card}"), "");
    assert_eq!(told(&flagged), (json!("FLAG"), vec![json!("REQUEST")], vec![json!(["cards"])]));
    assert_eq!(flagged.status, 200);
    let held = say(&edge, &format!("the key is {key}"), "");
    assert_eq!((held.status, held.header("svc-aig-error")), (400, Some("2029")));
    assert_eq!(told(&held), (json!("BLOCK"), vec![json!("REQUEST")], vec![json!(["keys"])]));
    let both_found = say(&edge, &format!("the key is {key} and the card is {card}"), "");
    assert_eq!(told(&both_found).2, [json!(["keys"]), json!(["cards"])]);
    // Answers are held for the policy that blocks, and what another one flags is said in their head.
    let answered =
        say(&edge, &format!("my card is {card}"), &format!("X-Form: stream\r\nX-Text: {card}\r\n"));
    assert_eq!(told(&answered).1, [json!("REQUEST"), json!("RESPONSE")]);
    assert_eq!(answered.text(), stream_of(&format!("the number is {card} as you asked")));
    let row = {
        let id = answered.header("svc-aig-log-id").unwrap().to_owned();
        edge.wait_for_event("ai_call", |row| row["id"] == id.as_str())
    };
    let checks: Vec<&str> =
        row["findings"].as_array().unwrap().iter().filter_map(|one| one["check"].as_str()).collect();
    assert_eq!(checks, ["REQUEST", "RESPONSE"], "each is told once");
    // A category stands for all of its rules: one of these does not run by default.
    let plain = api.result("PATCH", MAIN, &json!({"dlp": {"action": "FLAG", "profiles": ["pii"]}}));
    assert_eq!(plain["dlp"]["profiles"], json!(["pii"]));
    let row = {
        let id =
            say(&edge, "write to jane.roe@shop.example", "").header("svc-aig-log-id").unwrap().to_owned();
        edge.wait_for_event("ai_call", |row| row["id"] == id.as_str())
    };
    assert_eq!(row["findings"][0]["rule"], "pii.email");
    api.result("PATCH", MAIN, &json!({"dlp": dlp}));
    // A key in an answer is nobody's business here.
    let answered = ask(&edge, "json", &key, "");
    assert_eq!((answered.status, answered.header("svc-aig-dlp")), (200, None));
    // Out of force, one by one and all; the short form; none.
    for (change, status) in [
        (json!({"enabled": false, "policies": dlp["policies"]}), 200),
        (json!({"enabled": true, "policies": [policy("keys", "FLAG", both, json!(["credential"]))]}), 200),
        (json!({"enabled": true, "action": "BLOCK", "profiles": ["credential"]}), 400),
        (json!({"enabled": false, "action": "BLOCK", "profiles": ["credential"]}), 200),
        (Value::Null, 200),
    ] {
        let changed = api.result("PATCH", MAIN, &json!({"dlp": change}));
        assert_eq!(changed["dlp"], change);
        assert_eq!(api.result("PUT", MAIN, &api.get(MAIN))["dlp"], change, "as it is read");
        let fields = format!("X-Text: {key}\r\n");
        assert_eq!(call(&edge, PATH, &fields, ASKED).status, status, "{change}");
    }
}

#[test]
fn what_cannot_be_scanned_to_its_end_is_held_back() {
    let provider = Origin::start(|request, stream| {
        let text = String::from_utf8_lossy(&request.body).into_owned();
        let head = format!("content-type: text/plain\r\ncontent-length: {}", text.len());
        write!(stream, "HTTP/1.1 200 OK\r\n{head}\r\n\r\n{text}").is_ok()
    });
    let mut cut = 0;
    for (requests, responses, error) in [("block", "off", "2029"), ("off", "block", "2030")] {
        let scan =
            format!("[gateways.sensitive_data]\nrequests = \"{requests}\"\nresponses = \"{responses}\"\n");
        let edge = Edge::start(&conf(&provider, &format!("{GATEWAY}{scan}")));
        for decoy in ["<<<<", "a@b.", "http://a:bcd@", " on line at Exception: \n", "4111 1111 1111 1112 "] {
            let body = format!("{} my card is {}", decoy.repeat(300_000 / decoy.len()), card());
            let held = call(&edge, PATH, "", &body);
            assert_eq!((held.status, held.header("svc-aig-error")), (400, Some(error)), "{decoy}");
            cut +=
                usize::from(held.header("svc-aig-warning").is_some_and(|told| told.contains("to its end")));
        }
    }
    assert!(cut >= 2, "the card behind {cut} of these was not reached");
}

#[test]
fn kept_answers_are_of_the_policies_that_let_them_pass() {
    let provider = provider();
    let admin = "[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"api-token\"]\n";
    let edge = Edge::start(&format!("{}{admin}", conf(&provider, "")));
    let api = Api::new(&edge, "api-token");
    api.post(GATEWAYS, &json!({"id": "main", "authentication": false, "cache_ttl": 3600}));
    let card = card();
    let kept = |status: u16, asked: usize| {
        let before = provider.requests().len();
        assert_eq!(ask(&edge, "stream", &card, "").status, status);
        assert_eq!(provider.requests().len() - before, asked);
    };
    kept(200, 1);
    kept(200, 0);
    let policy = |profile: &str| json!({"dlp": {"action": "BLOCK", "profiles": [profile]}});
    api.result("PATCH", MAIN, &policy("credential"));
    kept(200, 1);
    kept(200, 0);
    api.result("PATCH", MAIN, &policy("financial"));
    kept(400, 1);
    kept(400, 1);
    api.result("PATCH", MAIN, &json!({"dlp": null}));
    kept(200, 0);
}

#[test]
fn policies_that_mean_nothing_are_refused() {
    let provider = provider();
    let admin = "[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"api-token\"]\n";
    let edge = Edge::start(&format!("{}{admin}", conf(&provider, "")));
    let api = Api::new(&edge, "api-token");
    api.post(GATEWAYS, &json!({"id": "main"}));
    let sound = json!({"id": "a", "action": "FLAG", "check": ["REQUEST"], "profiles": ["pii"]});
    let with = |member: &str, value: Value| {
        let mut policy = sound.clone();
        policy[member] = value;
        json!({"policies": [policy]})
    };
    let rows = [
        (json!([]), "/dlp"),
        (json!({"policies": {}}), "/dlp/policies"),
        (json!({"policies": vec![sound.clone(); 33]}), "/dlp/policies"),
        (json!({"policies": [sound, sound]}), "/dlp/policies/1/id"),
        (json!({"policies": [sound], "action": "FLAG", "profiles": ["pii"]}), "/dlp/policies"),
        (json!({"action": "FLAG"}), "/dlp/profiles"),
        (json!({"profiles": ["pii"]}), "/dlp/action"),
        (with("id", json!("a b")), "/dlp/policies/0/id"),
        (with("id", json!("\"}\r\nx: y")), "/dlp/policies/0/id"),
        (with("id", Value::Null), "/dlp/policies/0/id"),
        (with("action", json!("block")), "/dlp/policies/0/action"),
        (with("check", json!([])), "/dlp/policies/0/check"),
        (with("check", json!(["PROMPT"])), "/dlp/policies/0/check/0"),
        (with("profiles", json!([])), "/dlp/policies/0/profiles"),
        (with("profiles", json!(["pii", "none"])), "/dlp/policies/0/profiles/1"),
        (with("enabled", json!("yes")), "/dlp/policies/0/enabled"),
    ];
    for (dlp, pointer) in &rows {
        let (status, answer) = api.call("PATCH", MAIN, &json!({"dlp": dlp}));
        let errors = answer["errors"].as_array().cloned().unwrap_or_default();
        let is_told = errors.iter().any(|error| error["source"]["pointer"] == *pointer);
        assert_eq!((status, is_told), (400, true), "{dlp}: {answer}");
    }
    assert_eq!(api.get(MAIN)["dlp"], Value::Null);
    let file = |policy: &str| conf(&provider, &format!("{GATEWAY}[[gateways.dlp_policies]]\n{policy}"));
    for (policy, message) in [
        ("id = \"a\"\n", "`gateways.dlp_policies.profiles` is missing"),
        ("id = \"a b\"\nprofiles = [\"pii\"]\n", "takes 1 to 64 letters"),
        ("id = \"a\"\nprofiles = []\n", "takes 1 to 256 categories"),
        (
            "id = \"a\"\nprofiles = [\"none\"]\n",
            "no rule for sensitive data has the category or the id `none`",
        ),
        ("id = \"a\"\nprofiles = [\"pii\"]\ncheck = []\n", "is empty"),
        ("id = \"a\"\nprofiles = [\"pii\"]\naction = \"BLOCK\"\n", "expected one of `flag`, `block`"),
    ] {
        let told = refused_by_check(&file(policy));
        assert!(told.contains(message), "{policy}: {told}");
    }
    let sound = "id = \"cards\"\naction = \"block\"\ncheck = [\"request\"]\nprofiles = [\"financial\"]\n";
    let edge = Edge::start(&file(sound));
    let body = json!({"messages": [format!("my card is {}", card())]}).to_string();
    assert_eq!((call(&edge, PATH, "", &body).status, ask(&edge, "json", &card(), "").status), (400, 200));
}
