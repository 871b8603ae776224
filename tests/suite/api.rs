//! The management API: what it writes is served, kept, and shown as it was written.

use serde_json::{Value, json};

use crate::support::{Api, Client, Edge, Origin};

pub(crate) const TOKEN: &str = "api";
pub(crate) const REQUESTS: &str = "http_request_firewall_managed";
pub(crate) const RESPONSES: &str = "http_response_firewall_managed";
const ATTACK: &str = "/?q=1'%20UNION%20SELECT%20password%20FROM%20users--";

/// An edge with a token, whose only zone and gateway are in its file.
pub(crate) fn edge(origin: &Origin) -> (Edge, Api) {
    let edge = Edge::start(&format!(
        "gateway_hosts = [\"gw.example\"]\n[[listeners]]\naddress = \"127.0.0.1:0\"\n\
         [admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n\
         [[zones]]\nname = \"file.example\"\norigins = [\"{0}\"]\n[zones.waf]\n\
         [[gateways]]\naccount = \"acme\"\nid = \"main\"\n[[providers]]\nslug = \"openai\"\nbase_url = \"{0}\"\n\
         allow_private = true\n[dns]\nresolvers = [\"127.0.0.1:9\"]\n\
         [[certificates.authorities]]\nname = \"lets_encrypt\"\ndirectory = \"https://localhost:9/dir\"\n",
        origin.url()
    ));
    let api = Api::new(&edge, TOKEN);
    (edge, api)
}

/// A zone over the API, and its id.
pub(crate) fn zone(api: &Api, name: &str, origin: &Origin) -> String {
    let zone =
        api.post("/zones", &json!({"name": name, "account": {"id": "acme"}, "origins": [origin.url()]}));
    zone["id"].as_str().unwrap().to_owned()
}

/// The id of a managed ruleset.
pub(crate) fn managed(api: &Api, phase: &str) -> String {
    let rulesets = api.get("/accounts/acme/rulesets");
    let found = rulesets.as_array().unwrap().iter().find(|ruleset| ruleset["phase"] == phase).unwrap();
    assert!(found.get("rules").is_none(), "lists have no rules");
    found["id"].as_str().unwrap().to_owned()
}

pub(crate) fn execute(ruleset: &str) -> Value {
    json!({"action": "execute", "action_parameters": {"id": ruleset}, "expression": "true", "description": "runs"})
}

pub(crate) fn status(edge: &Edge, target: &str) -> u16 {
    Client::get(edge.proxy[0], "new.example", target).status
}

/// The five procedures of the spec, word for word.
#[test]
fn the_five_procedures_protect_a_zone() {
    let origin = Origin::fixed("text/html", "<p>card number 4111 1111 1111 1111</p>");
    let (mut edge, api) = edge(&origin);
    assert_eq!(status(&edge, "/"), 404, "nobody has made the zone");
    let zone = zone(&api, "new.example", &origin);
    assert_eq!(status(&edge, ATTACK), 200, "a zone without rules judges nothing");
    let (owasp, phases) = (managed(&api, REQUESTS), format!("/zones/{zone}/rulesets/phases"));

    // 1. Enable OWASP.
    let entry_point = format!("{phases}/{REQUESTS}/entrypoint");
    assert_eq!(api.refused("GET", &entry_point, &Value::Null), (404, vec![10003]));
    let body = json!({"name": "zone", "description": "", "kind": "zone", "phase": REQUESTS, "rules": []});
    let ruleset = api.post(&format!("/zones/{zone}/rulesets"), &body);
    let rules = format!("/zones/{zone}/rulesets/{}/rules", ruleset["id"].as_str().unwrap());
    let whole = api.post(&rules, &execute(&owasp));
    assert_eq!(
        (&whole["version"], &whole["id"], &whole["kind"]),
        (&json!("2"), &ruleset["id"], &json!("zone"))
    );
    assert_eq!(whole["rules"][0]["action_parameters"]["version"], "latest");
    assert_eq!(api.get(&entry_point), whole, "a write is shown as it is read");
    assert_eq!((status(&edge, ATTACK), status(&edge, "/")), (403, 200));

    // 2. Paranoia level 2, and 3. threshold and action of the last rule.
    let rule = format!("{rules}/{}", whole["rules"][0]["id"].as_str().unwrap());
    let last = api.get(&format!("/accounts/acme/rulesets/{owasp}"))["rules"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    let overrides = json!({
        "categories": [{"category": "paranoia-level-3", "enabled": false}, {"category": "paranoia-level-4", "enabled": false}],
        "rules": [{"id": last["id"], "score_threshold": 1000, "action": "block"}],
    });
    let with = |overrides: &Value| json!({"action": "execute", "action_parameters": {"id": owasp, "overrides": overrides}, "expression": "true", "enabled": true});
    let changed = api.result("PATCH", &rule, &with(&overrides));
    assert_eq!(changed["rules"][0]["action_parameters"]["overrides"], overrides);
    assert_eq!((&changed["version"], &changed["rules"][0]["version"]), (&json!("3"), &json!("2")));
    assert_eq!(status(&edge, ATTACK), 200, "below the threshold");
    let logs = json!({"rules": [{"id": last["id"], "score_threshold": 5, "action": "log"}]});
    api.result("PATCH", &rule, &with(&logs));
    assert_eq!(status(&edge, ATTACK), 200, "the action is `log`");
    edge.wait_for_event("security_event", |event| event["Action"] == "log");
    let explained = api.get(&format!("{entry_point}/explain"));
    let explained = explained.as_array().unwrap().last().unwrap().clone();
    assert_eq!((&explained["action"], &explained["score_threshold"]), (&json!("log"), &json!(5)));

    // 4. Enable Sensitive Data Detection, 5. with an action for all its rules.
    let (detection, entry_point) = (managed(&api, RESPONSES), format!("{phases}/{RESPONSES}/entrypoint"));
    assert_eq!(api.refused("GET", &entry_point, &Value::Null), (404, vec![10003]));
    let mut rule = execute(&detection);
    rule["action_parameters"]["overrides"] = json!({"action": "log"});
    let body = json!({"name": "z", "description": "", "kind": "zone", "phase": RESPONSES, "rules": [rule]});
    api.post(&format!("/zones/{zone}/rulesets"), &body);
    assert_eq!(status(&edge, "/card"), 200);
    edge.wait_for_event("sensitive_data", |event| event["zone"] == "new.example");
    let blocks = json!({"rules": [{"action": "execute", "expression": "true",
        "action_parameters": {"id": detection, "overrides": {"action": "block"}}}]});
    assert_eq!(api.refused("PUT", &entry_point, &blocks), (400, vec![20129]));
}

#[test]
fn rules_keep_their_identity_and_what_changes_nothing_keeps_its_version() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    let zone = zone(&api, "new.example", &origin);
    let owasp = managed(&api, REQUESTS);
    let entry_point = format!("/zones/{zone}/rulesets/phases/{REQUESTS}/entrypoint");
    let rule = |r#ref: &str, expression: &str| {
        let mut rule = execute(&owasp);
        (rule["ref"], rule["expression"]) = (json!(r#ref), json!(expression));
        rule
    };
    let put = |rules: Value| api.result("PUT", &entry_point, &json!({"rules": rules}));
    let first = put(json!([rule("a", "true"), rule("b", "ssl")]));
    assert_eq!(first["version"], "1");
    let same = put(json!([rule("a", "true"), rule("b", "ssl")]));
    assert_eq!(same, first, "what is the same is no change");
    let swapped = put(json!([rule("b", "ssl"), rule("a", "not ssl"), rule("c", "true")]));
    let ids = |ruleset: &Value, at: usize| ruleset["rules"][at]["id"].clone();
    assert_eq!((ids(&swapped, 0), ids(&swapped, 1)), (ids(&first, 1), ids(&first, 0)));
    let versions: Vec<_> = (0..3).map(|at| swapped["rules"][at]["version"].clone()).collect();
    assert_eq!(versions, ["1", "2", "1"]);
    // Moves keep id and version.
    let ruleset = format!("/zones/{zone}/rulesets/{}", first["id"].as_str().unwrap());
    let path = |at: usize| format!("{ruleset}/rules/{}", ids(&swapped, at).as_str().unwrap());
    let moved = api.result("PATCH", &path(2), &json!({"position": {"index": 1}}));
    assert_eq!((ids(&moved, 0), &moved["rules"][0]["version"]), (ids(&swapped, 2), &json!("1")));
    let moved = api.result("PATCH", &path(2), &json!({"position": {"after": ids(&swapped, 0)}}));
    assert_eq!(
        [ids(&moved, 0), ids(&moved, 1), ids(&moved, 2)],
        [ids(&swapped, 0), ids(&swapped, 2), ids(&swapped, 1)]
    );
    for (position, pointer) in [
        (json!({"index": 9}), "/position/index"),
        (json!({"before": "x"}), "/position"),
        (json!({"before": "", "after": ""}), "/position"),
        (json!({}), "/position"),
    ] {
        let (status, answer) = api.call("PATCH", &path(0), &json!({"position": position}));
        assert_eq!((status, &answer["errors"][0]["code"]), (400, &json!(20107)), "{answer}");
        assert_eq!(answer["errors"][0]["source"]["pointer"], pointer, "{answer}");
    }
    // Versions stay readable, and the rules of each are those of then.
    let versions = api.get(&format!("{ruleset}/versions"));
    let numbers: Vec<_> = versions.as_array().unwrap().iter().map(|v| v["version"].clone()).collect();
    assert_eq!(numbers, ["4", "3", "2", "1"]);
    assert_eq!(api.get(&format!("{ruleset}/versions/1")), first);
    assert_eq!(api.refused("GET", &format!("{ruleset}/versions/9"), &Value::Null), (404, vec![10003]));
    let restored = api.post(&format!("{ruleset}/versions/1/restore"), &Value::Null);
    assert_eq!(
        (&restored["version"], ids(&restored, 0), ids(&restored, 1)),
        (&json!("5"), ids(&first, 0), ids(&first, 1))
    );
    assert_eq!(restored["rules"].as_array().unwrap().len(), 2);
    let whole = api.post(&format!("{ruleset}/versions/4/restore"), &Value::Null);
    let path = |at: usize| format!("{ruleset}/rules/{}", ids(&whole, at).as_str().unwrap());
    let left = api.result("DELETE", &path(1), &Value::Null);
    assert_eq!(left["rules"].as_array().unwrap().len(), 2);
    assert_eq!(api.refused("DELETE", &path(1), &Value::Null), (404, vec![20108]));
    assert_eq!(api.ask("DELETE", &ruleset, "", "").status, 204);
    assert_eq!(api.refused("GET", &ruleset, &Value::Null), (404, vec![10003]));
    let history = api.get(&format!("{entry_point}/history"));
    assert_eq!(history[0]["version"], Value::Null, "{history}");
    assert_eq!(history.as_array().unwrap().len(), 8);
    assert!(history[0]["actor"].as_str().unwrap().contains("token 0"), "{history}");
}

/// Each mistake is named with its place, none at the cost of another.
#[test]
fn every_mistake_of_a_body_is_named() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    let zone = zone(&api, "new.example", &origin);
    let owasp = managed(&api, REQUESTS);
    let rulesets = format!("/zones/{zone}/rulesets");
    let cases = [
        (
            json!({"kind": "banana", "phase": "x", "rules": [{}]}),
            vec![
                ("/kind", 20021),
                ("/phase", 20022),
                ("/rules/0/action", 20126),
                ("/rules/0/expression", 20125),
            ],
        ),
        (json!({}), vec![("/kind", 20021), ("/phase", 20022)]),
        (json!([]), vec![("", 10007)]),
        (json!({"kind": "managed", "phase": REQUESTS}), vec![("/kind", 20021)]),
        (
            json!({"kind": "zone", "phase": REQUESTS, "rules": [
                {"action": "execute", "expression": "nope", "action_parameters": {"id": owasp, "version": "7"}},
                {"action": "execute", "expression": "true", "action_parameters": {"id": "none"}},
                {"action": "block", "expression": "true"},
                {"action": "execute", "expression": "true", "action_parameters": {"id": owasp, "overrides": {
                    "action": "redirect", "categories": [{"category": "x"}], "rules": [{"id": "y"}]}}},
            ]}),
            vec![
                ("/rules/0/expression", 20125),
                ("/rules/0/action_parameters/version", 20128),
                ("/rules/1/action_parameters/id", 20127),
                ("/rules/2/action", 20126),
                ("/rules/3/action_parameters/overrides", 20129),
                ("/rules/3/action_parameters/overrides", 20129),
                ("/rules/3/action_parameters/overrides", 20129),
            ],
        ),
        (
            json!({"kind": "zone", "phase": REQUESTS, "rules": [{"action": 5, "expression": 5, "enabled": "x",
                "action_parameters": {"overrides": {"rules": [{"score_threshold": "many"}]}}}]}),
            vec![
                ("/rules/0/action", 20126),
                ("/rules/0/expression", 10008),
                ("/rules/0/action_parameters/id", 10008),
                ("/rules/0/action_parameters/overrides/rules/0/id", 10008),
                ("/rules/0/action_parameters/overrides/rules/0/score_threshold", 10008),
            ],
        ),
    ];
    for (body, expected) in cases {
        let (status, answer) = api.call("POST", &rulesets, &body);
        assert_eq!(status, 400, "{body}: {answer}");
        let found: Vec<_> = answer["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|error| (error["source"]["pointer"].as_str().unwrap(), error["code"].as_u64().unwrap()))
            .collect();
        assert_eq!(found, expected, "{body}: {answer}");
    }
    assert_eq!(api.get(&rulesets).as_array().unwrap().len(), 2, "nothing was made of them");
    for body in ["{", "nope", "[1", "{\"a\":}"] {
        let answer = api.ask("POST", &rulesets, "", body);
        assert_eq!((answer.status, answer.header("x-should-retry")), (400, Some("false")), "{body}");
    }
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    assert_eq!(api.ask("POST", &rulesets, "", &deep).status, 400);
    assert_eq!(api.ask("POST", &rulesets, "", &" ".repeat(5 << 20)).status, 413);
}

#[test]
fn every_mistake_of_a_zone_and_of_framing_is_named() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let taken = json!({"name": "FILE.example.", "origins": ["ftp://x", "http://a/b", "http://ok"], "type": "partial"});
    let (status, answer) = api.call("POST", "/zones", &taken);
    let pointers: Vec<_> =
        answer["errors"].as_array().unwrap().iter().map(|error| error["source"]["pointer"].clone()).collect();
    assert_eq!((status, pointers), (400, vec![json!("/origins/0"), json!("/origins/1"), json!("/type")]));
    assert_eq!(api.refused("POST", "/zones", &json!({"name": "FILE.example."})), (400, vec![1061]));
    assert_eq!(api.refused("POST", "/zones", &json!({"name": "a b"})), (400, vec![1049]));
    // The gateway's own host is nobody's zone.
    assert_eq!(api.refused("POST", "/zones", &json!({"name": "gw.example"})), (409, vec![10009]));
    let models = Client::get(edge.proxy[0], "gw.example", "/v1/acme/main/openai/v1/models");
    assert_eq!(models.status, 401, "the gateway answers");
    assert_eq!(
        api.refused("POST", "/zones", &json!({"name": "x.example", "account": {"id": "no"}})),
        (400, vec![10008])
    );
    let head = "POST /client/v4/zones HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer api\r\n";
    for (framing, expected) in [
        ("Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n", (400, 10019)),
        ("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", (400, 10019)),
        ("Content-Encoding: gzip\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", (415, 10020)),
    ] {
        let answer = Client::once(edge.admin, format!("{head}{framing}"));
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!((answer.status, body["errors"][0]["code"].as_u64().unwrap()), expected, "{framing}");
    }
}

#[test]
fn resources_of_files_are_shown_with_their_place_and_refuse_writes() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let shown = api.get("/zones/file.example");
    let place = shown["declared_at"].as_str().unwrap();
    assert!(place.ends_with("p.toml:8:8"), "{place}");
    let gateways = "/accounts/acme/ai-gateway/gateways";
    let entry_point = |phase: &str| format!("/zones/file.example/rulesets/phases/{phase}/entrypoint");
    for (method, path, body) in [
        ("PATCH", "/zones/file.example".to_owned(), json!({"origins": ["http://127.0.0.1:1"]})),
        ("DELETE", "/zones/file.example".to_owned(), Value::Null),
        ("PUT", entry_point(REQUESTS), json!({"rules": []})),
        (
            "POST",
            "/zones/file.example/rulesets".to_owned(),
            json!({"kind": "zone", "phase": REQUESTS, "rules": []}),
        ),
        ("PUT", format!("{gateways}/main"), json!({"authentication": false})),
        ("DELETE", format!("{gateways}/main"), Value::Null),
        ("DELETE", "/accounts/acme/ai-gateway/custom-providers/openai".to_owned(), Value::Null),
    ] {
        let (status, answer) = api.call(method, &path, &body);
        let message = answer["errors"][0]["message"].as_str().unwrap_or_default();
        assert_eq!((status, &answer["errors"][0]["code"]), (409, &json!(10009)), "{method} {path}: {answer}");
        assert!(message.contains("p.toml:") && message.contains("change it there"), "{message}");
    }
    // What the file does not declare can be written.
    let detection = managed(&api, RESPONSES);
    api.result("PUT", &entry_point(RESPONSES), &json!({"rules": [execute(&detection)]}));
    assert_eq!(api.get("/zones/file.example/rulesets").as_array().unwrap().len(), 4);
    // A file that comes to declare it is a conflict with both places, and changes nothing.
    let conf = std::fs::read_to_string(edge.folder.path().join("p.toml")).unwrap();
    edge.rewrite(&conf.replace("[zones.waf]", "[zones.waf]\n[zones.sensitive_data]"));
    edge.signal("HUP");
    let mut edge = edge;
    let refused = edge.wait_for_event("snapshot_refused", |_| true);
    assert!(refused.to_string().contains(RESPONSES), "{refused}");
    assert_eq!(Client::get(edge.proxy[0], "file.example", "/").status, 200);
}

#[test]
fn tags_keys_and_dry_runs_are_honoured() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let body =
        json!({"name": "new.example", "account": {"id": "acme"}, "origins": [origin.url()]}).to_string();
    // A dry run shows what would be and keeps nothing.
    let dry = api.ask("POST", "/zones?dry_run=true", "", &body);
    assert_eq!((dry.status, status(&edge, "/")), (200, 404));
    assert!(dry.text().contains("\"name\":\"new.example\""), "{}", dry.text());
    assert_eq!(api.ask("POST", "/zones?dry_run=maybe", "", &body).status, 400);
    assert_eq!(api.refused("GET", "/zones/new.example", &Value::Null), (404, vec![7003, 7000]));
    // The same key, the same answer; another question under it is refused.
    let key = "Idempotency-Key: k1\r\n";
    let (first, again) = (api.ask("POST", "/zones", key, &body), api.ask("POST", "/zones", key, &body));
    assert_eq!((first.status, again.status), (200, 200));
    assert_eq!((&first.body, again.header("idempotent-replayed")), (&again.body, Some("true")));
    assert_eq!(api.ask("POST", "/zones", key, "{}").status, 409);
    assert_eq!(api.ask("POST", "/zones", "", &body).status, 400, "without the key it exists");
    // A change of what was read is a change of what is there.
    let tag = api.ask("GET", "/zones/new.example", "", "").header("etag").unwrap().to_owned();
    let change = r#"{"balance":"least_connections"}"#;
    let changed = api.ask("PATCH", "/zones/new.example", &format!("If-Match: {tag}\r\n"), change);
    assert_eq!(changed.status, 200, "{}", changed.text());
    assert_ne!(changed.header("etag"), Some(tag.as_str()));
    let stale = api.ask(
        "PATCH",
        "/zones/new.example",
        &format!("If-Match: {tag}\r\n"),
        r#"{"balance":"round_robin"}"#,
    );
    assert_eq!(stale.status, 412, "{}", stale.text());
    assert_eq!(api.get("/zones/new.example")["balance"], "least_connections");
    assert_eq!(api.ask("DELETE", "/zones/new.example", "If-Match: \"0\"\r\n", "").status, 412);
    assert_eq!(api.ask("DELETE", "/zones/new.example", "If-Match: *\r\n", "").status, 200);
    assert_eq!(status(&edge, "/"), 404);
}

#[test]
fn what_took_effect_under_a_key_does_not_again_though_the_process_is_gone() {
    let origin = Origin::echo();
    let (mut edge, api) = edge(&origin);
    let token = "/accounts/acme/ai-gateway/gateways/main/tokens";
    let (key, name) = ("Idempotency-Key: k2\r\n", r#"{"name":"ci"}"#);
    assert_eq!(api.ask("POST", token, key, name).status, 200);
    edge.signal("KILL");
    edge.wait_for_exit();
    let edge = edge.again();
    let api = Api::new(&edge, TOKEN);
    let again = api.ask("POST", token, key, name);
    assert_eq!(again.status, 409, "{}", again.text());
    assert!(again.text().contains("took effect as revision"), "{}", again.text());
    assert!(api.ask("POST", token, key, r#"{"name":"cd"}"#).text().contains("with another request"));
    assert_eq!(api.get(token).as_array().unwrap().len(), 1);
    assert_eq!(api.ask("POST", token, "Idempotency-Key: k3\r\n", name).status, 200);
}
