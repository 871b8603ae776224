//! What rules would do with a request that is not sent: over the API and on the command line.

use serde_json::{Value, json};

use crate::api::{REQUESTS, edge, execute, managed, zone};
use crate::support::{Api, Client, Origin, run_cli};

const CUSTOM: &str = "http_request_firewall_custom";

/// The rules of a phase in a trace: action and whether it matched.
fn rules(trace: &Value, phase: &str) -> Vec<(String, bool)> {
    let phases = trace["trace"].as_array().unwrap();
    let Some(found) = phases.iter().find(|step| step["step_name"] == phase) else { return Vec::new() };
    let rule =
        |step: &Value| (step["action"].as_str().unwrap_or("").to_owned(), step["matched"].as_bool().unwrap());
    found["trace"].as_array().unwrap().iter().map(rule).collect()
}

/// A zone with rules in each phase, and the id of a ruleset that one of them runs.
fn shop(api: &Api, origin: &Origin) -> Value {
    let id = zone(api, "a.example", origin);
    let owner = format!("/zones/{id}");
    let put = |phase: &str, rules: Value| {
        api.result("PUT", &format!("{owner}/rulesets/phases/{phase}/entrypoint"), &json!({"rules": rules}));
    };
    let path = |text: &str| format!("http.request.uri.path eq \"{text}\"");
    put(
        "http_request_transform",
        json!([{"action": "rewrite", "expression": path("/old"),
                "action_parameters": {"uri": {"path": {"value": "/new"}}}}]),
    );
    let shared = api.post(
        &format!("{owner}/rulesets"),
        &json!({"kind": "custom", "phase": CUSTOM, "rules": [
            {"action": "block", "expression": path("/admin"), "description": "no entry"}]}),
    );
    put(
        CUSTOM,
        json!([
            {"action": "log", "expression": "http.request.method eq \"POST\""},
            {"action": "execute", "expression": "true", "action_parameters": {"id": shared["id"]}},
            {"action": "js_challenge", "expression": "ip.src in {192.0.2.0/24}"},
        ]),
    );
    put(
        "http_ratelimit",
        json!([{"action": "block", "expression": path("/new"), "ratelimit":
            {"characteristics": ["ip.src"], "period": 60, "requests_per_period": 1, "mitigation_timeout": 60}}]),
    );
    put(REQUESTS, json!([execute(&managed(api, REQUESTS))]));
    put(
        "http_request_origin",
        json!([{"action": "route", "expression": path("/new"), "action_parameters": {"origin": {"port": 1}}}]),
    );
    shared
}

fn trace(api: &Api, body: &Value) -> Value {
    api.post("/accounts/acme/request-tracer/trace", body)
}

#[test]
fn each_phase_is_told_in_order_up_to_what_ends_the_request() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    let shared = shop(&api, &origin);
    // What is rewritten is judged as the origin gets it.
    for _ in 0..3 {
        let sent = trace(&api, &json!({"url": "http://a.example/old?x=1", "method": "POST"}));
        assert_eq!((&sent["status_code"], &sent["action"]), (&Value::Null, &json!("send")));
        assert_eq!((&sent["target"], &sent["zone_name"]), (&json!("/new?x=1"), &json!("a.example")));
        assert_eq!(rules(&sent, "http_request_transform"), [("rewrite".to_owned(), true)]);
        let custom = [("log", true), ("execute", true), ("js_challenge", false)];
        assert_eq!(rules(&sent, CUSTOM), custom.map(|(action, is)| (action.to_owned(), is)));
        assert_eq!(rules(&sent, "http_ratelimit"), [("block".to_owned(), true)], "it is not counted");
        assert_eq!(rules(&sent, "http_request_origin"), [("route".to_owned(), true)]);
    }
    let blocked = trace(&api, &json!({"url": "https://A.example/admin"}));
    assert_eq!((&blocked["status_code"], &blocked["action"]), (&json!(403), &json!("block")));
    let inner = &blocked["trace"][1]["trace"][1]["trace"][0];
    assert_eq!((&inner["description"], &inner["matched"]), (&json!("no entry"), &json!(true)), "{blocked}");
    assert_eq!(inner["step_name"], shared["rules"][0]["id"]);
    assert!(rules(&blocked, REQUESTS).is_empty(), "what is ended goes no further");
    let from = |more: &Value| {
        let mut context = json!({"client_ip": "192.0.2.7"});
        context.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        trace(&api, &json!({"url": "http://a.example/", "context": context}))
    };
    assert_eq!(
        (&from(&Value::Null)["action"], &from(&Value::Null)["status_code"]),
        (&json!("js_challenge"), &json!(403))
    );
    assert_eq!(from(&json!({"skip_challenge": true}))["action"], "send");
}

#[test]
fn bodies_and_cookies_are_judged_and_nothing_is_sent() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    shop(&api, &origin);
    // Bodies and cookies are judged, in each form.
    let attack = "q=1' UNION SELECT password FROM users--";
    for body in [
        json!({"plain_text": attack}),
        json!({"base64": "cT0xJyBVTklPTiBTRUxFQ1QgcGFzc3dvcmQgRlJPTSB1c2Vycy0t"}),
    ] {
        let form = json!({"content-type": "application/x-www-form-urlencoded"});
        let scored = trace(
            &api,
            &json!({"url": "http://a.example/", "method": "POST", "headers": form, "body": body}),
        );
        assert_eq!(scored["action"], "block", "{scored}");
        let phase = scored["trace"].as_array().unwrap().last().unwrap();
        assert!(!phase["trace"][0]["trace"].as_array().unwrap().is_empty(), "{phase}");
    }
    let scored = trace(
        &api,
        &json!({"url": "http://a.example/", "cookies": {"a": "1' UNION SELECT password FROM users--"}}),
    );
    assert_eq!(scored["action"], "block", "{scored}");
    // Nothing was sent, counted or told.
    assert!(origin.requests().is_empty());
    assert_eq!(Client::get(edge.proxy[0], "a.example", "/other").status, 200);
    for (body, code) in [
        (json!({}), 400),
        (json!({"url": "ftp://a.example/"}), 400),
        (json!({"url": "http://elsewhere.example/"}), 400),
        (json!({"url": "http://a.example/", "context": {"client_ip": "here"}}), 400),
        (json!({"url": "http://a.example/", "headers": {"a": 1}}), 400),
        (json!({"url": "http://a.example/", "body": {"base64": "?"}}), 400),
    ] {
        assert_eq!(api.refused("POST", "/accounts/acme/request-tracer/trace", &body).0, code, "{body}");
    }
    let other =
        api.refused("POST", "/accounts/other/request-tracer/trace", &json!({"url": "http://a.example/"}));
    assert!(matches!(other.0, 400 | 404), "a zone is of its account: {other:?}");
}

#[test]
fn the_command_shows_what_the_api_says() {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("edge.toml");
    let rules = "rulesets = [{ phase = \"http_request_firewall_custom\", rules = [\
        { action = \"log\", expression = \"ip.src eq 192.0.2.1\" },\
        { action = \"block\", description = \"no entry\", expression = 'http.request.uri.path eq \"/admin\"' }] }]";
    let zone = format!(
        "[[zones]]\nname = \"a.example\"\norigins = [\"http://127.0.0.1:1\"]\n{rules}\n[zones.waf]\n"
    );
    std::fs::write(&conf, zone.replace("[zones.waf]\n", "")).unwrap();
    let conf = conf.display().to_string();
    let run = |request: &str, more: &[&str]| {
        let arguments = [&["trace", "--conf", &conf, "--request", "-"], more].concat();
        let output = run_cli(&arguments, request.as_bytes());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let (code, text) = run("GET /a/../admin HTTP/1.1\r\nHost: a.example\r\n\r\n", &["--client", "192.0.2.1"]);
    assert_eq!(code, Some(0), "{text}");
    for part in [
        "zone a.example\n",
        "  match  log  ip.src eq 192.0.2.1",
        "  match  block",
        "(no entry)",
        "blocked with 403",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (_, text) = run("GET /b HTTP/1.1\r\nHost: www.a.example\r\n\r\n", &[]);
    assert!(
        text.contains("  -      block") && text.contains("goes to an origin of the zone for /b"),
        "{text}"
    );
    for (request, words) in [
        ("GET / HTTP/1.1\r\nHost: b.example\r\n\r\n", "no zone for `b.example`"),
        ("GET / HTTP/1.1\r\n\r\n", "names no valid host"),
        ("GET", "the first line is not"),
    ] {
        let (code, text) = run(request, &[]);
        assert!(code == Some(1) && text.contains(words), "{text}");
    }
}
