//! Kinds of content that a guardrail tells apart: what the gateway asks about, flags and refuses.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::ai_calls::{CHAT, GATEWAY, call, conf};
use crate::support::{Api, Edge, Origin, refused_by_check};

const PATH: &str = "openai/v1/chat/completions";
const GATEWAYS: &str = "/accounts/acme/ai-gateway/gateways";
const MAIN: &str = "/accounts/acme/ai-gateway/gateways/main";

/// A service that finds the kinds of content that stand in what it judges as `kind-S1`, and allows everything.
fn judge() -> Origin {
    Origin::start(|request, stream| {
        let text = String::from_utf8_lossy(&request.body).into_owned();
        let kinds = text.split("kind-").skip(1);
        let kinds: Vec<&str> =
            kinds.map(|kind| kind.split(|c: char| !c.is_alphanumeric()).next().unwrap()).collect();
        let answer = json!({"action": "allow", "categories": kinds}).to_string();
        write!(stream, "HTTP/1.1 200 X\r\ncontent-length: {}\r\n\r\n{answer}", answer.len()).is_ok()
    })
}

/// Answers with the field `X-Text`.
fn provider() -> Origin {
    Origin::start(|request, stream| {
        let answer = CHAT.replace("answer-canary", request.header("x-text").unwrap_or("good"));
        let head = format!("content-type: application/json\r\ncontent-length: {}", answer.len());
        write!(stream, "HTTP/1.1 200 OK\r\n{head}\r\n\r\n{answer}").is_ok()
    })
}

fn body(text: &str) -> String {
    json!({"model": "m-1", "messages": [{"role": "user", "content": text}]}).to_string()
}

/// Status, error and findings of a call.
fn outcome(edge: &mut Edge, asked: &str, answered: &str) -> (u16, String, Vec<String>) {
    let answer = call(edge, PATH, &format!("X-Text: {answered}\r\n"), &body(asked));
    let ray = answer.header("svc-ray").unwrap().to_owned();
    let row = edge.wait_for_event("ai_call", |row| row["ray_id"] == ray.as_str());
    let findings = row["findings"].as_array().unwrap().iter();
    let findings =
        findings.map(|one| format!("{} {}", one["check"].as_str().unwrap(), one["rule"].as_str().unwrap()));
    (answer.status, answer.header("svc-aig-error").unwrap_or("").to_owned(), findings.collect())
}

#[test]
fn kinds_of_content_are_flagged_and_refused_as_the_gateway_says() {
    let (provider, judge) = (provider(), judge());
    let policy =
        "prompt = { S1 = \"block\", S10 = \"flag\" }\nresponse = { P1 = \"flag\", S13 = \"block\" }\n";
    let guardrail = format!("{GATEWAY}[gateways.guardrail]\nurl = \"{}/judge\"\n{policy}", judge.url());
    let mut edge = Edge::start(&conf(&provider, &guardrail));
    let none = Vec::<String>::new;
    assert_eq!(outcome(&mut edge, "hello", "good"), (200, String::new(), none()));
    let questions: Vec<Value> =
        judge.requests().iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect();
    let asked: Vec<_> =
        questions.iter().map(|question| (&question["stage"], &question["categories"])).collect();
    let (prompt, response) = (json!({"S1": "BLOCK", "S10": "FLAG"}), json!({"P1": "FLAG", "S13": "BLOCK"}));
    assert_eq!(
        asked,
        [(&json!("request"), &prompt), (&json!("response"), &response)],
        "both are judged for it"
    );
    let before = provider.requests().len();
    let refused = outcome(&mut edge, "kind-S1 and kind-S10", "good");
    let both = vec!["REQUEST guardrail.S1".to_owned(), "REQUEST guardrail.S10".to_owned()];
    assert_eq!(refused, (424, "2016".to_owned(), both));
    assert_eq!(provider.requests().len(), before, "the provider hears of nothing");
    assert_eq!(outcome(&mut edge, "kind-S10", "good").2, ["REQUEST guardrail.S10"]);
    assert_eq!(outcome(&mut edge, "kind-S13 kind-S2 kind-S99 kind-P1", "good"), (200, String::new(), none()));
    let flagged = outcome(&mut edge, "kind-S10", "kind-P1");
    assert_eq!(
        (flagged.0, flagged.2),
        (200, vec!["REQUEST guardrail.S10".to_owned(), "RESPONSE guardrail.P1".to_owned()])
    );
    let refused = outcome(&mut edge, "hello", "kind-S13");
    assert_eq!(refused, (424, "2017".to_owned(), vec!["RESPONSE guardrail.S13".to_owned()]));
    for (policy, message) in [
        ("prompt = { S14 = \"block\" }\n", "expected `P1` or `S1` to `S13`, found `S14`"),
        ("prompt = { S1 = \"BLOCK\" }\n", "expected one of `flag`, `block`"),
        ("response = [\"S1\"]\n", "a table of kinds and actions"),
    ] {
        let told = refused_by_check(&conf(
            &provider,
            &guardrail.replace(guardrail.split("judge\"\n").nth(1).unwrap(), policy),
        ));
        assert!(told.contains(message), "{told}");
    }
}

#[test]
fn kinds_of_content_are_set_over_the_api() {
    let (provider, judge) = (provider(), judge());
    let admin = "[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"api-token\"]\nprivate_webhooks = true\n";
    let mut edge = Edge::start(&format!("{}{admin}", conf(&provider, "")));
    let api = Api::new(&edge, "api-token");
    let guardrail = json!({"url": format!("{}/judge", judge.url())});
    let policy = json!({"prompt": {"S1": "BLOCK", "P1": "FLAG"}, "response": {}});
    let gateway = json!({"id": "main", "authentication": false, "guardrails": policy});
    assert_eq!(api.call("POST", GATEWAYS, &gateway).0, 400, "nobody would find them");
    let mut gateway = gateway;
    gateway["guardrail"] = guardrail;
    gateway["cache_ttl"] = json!(60);
    assert_eq!(api.post(GATEWAYS, &gateway)["guardrails"], policy);
    assert_eq!(outcome(&mut edge, "kind-S1", "good").0, 424);
    assert_eq!(api.result("PUT", MAIN, &api.get(MAIN))["guardrails"], policy, "as it is read");
    for bad in [
        json!({"prompt": {"S0": "BLOCK"}, "response": {}}),
        json!({"prompt": {"S1": "block"}, "response": {}}),
        json!({"prompt": [], "response": {}}),
        json!("S1"),
    ] {
        let (status, answer) = api.call("PATCH", MAIN, &json!({"guardrails": bad}));
        assert_eq!(status, 400, "{bad} {answer}");
        assert!(
            answer["errors"][0]["source"]["pointer"].as_str().unwrap().starts_with("/guardrails"),
            "{answer}"
        );
    }
    assert_eq!(api.call("PATCH", MAIN, &json!({"guardrail": null})).0, 400, "its kinds would be nobody's");
    assert_eq!(api.call("PUT", MAIN, &json!({"authentication": false, "guardrails": policy})).0, 400);
    assert_eq!(outcome(&mut edge, "kind-S1", "good").0, 424, "none of these changed anything");
    // Answers that were kept before a kind was refused are judged anew.
    assert_eq!(outcome(&mut edge, "hello", "kind-S2").0, 200);
    let answers = json!({"guardrails": {"prompt": {}, "response": {"S2": "BLOCK"}}});
    assert_eq!(api.result("PATCH", MAIN, &answers)["guardrails"], answers["guardrails"]);
    assert_eq!(
        (outcome(&mut edge, "hello", "kind-S2").0, outcome(&mut edge, "kind-S1", "good").0),
        (424, 200)
    );
    let none = api.result("PATCH", MAIN, &json!({"guardrail": null, "guardrails": null}));
    assert_eq!((&none["guardrail"], &none["guardrails"]), (&Value::Null, &Value::Null));
    assert_eq!(outcome(&mut edge, "kind-S1 again", "kind-S2").0, 200);
}
