//! Rulesets of the kind `custom`, which entry points run by `execute`.

use serde_json::{Value, json};

use crate::api::{edge, zone};
use crate::support::{Api, Client, Edge, Origin, refused_by_check, wait_for};

const PHASE: &str = "http_request_firewall_custom";

fn rule(action: &str, expression: &str, parameters: &Value) -> Value {
    json!({"action": action, "expression": expression, "action_parameters": parameters})
}

fn block(path: &str) -> Value {
    rule("block", &format!("starts_with(http.request.uri.path, \"{path}\")"), &Value::Null)
}

fn run(ruleset: &str, expression: &str) -> Value {
    rule("execute", expression, &json!({"id": ruleset}))
}

/// A new ruleset of an owner, and its id.
fn custom(api: &Api, owner: &str, phase: &str, rules: &[Value]) -> (String, Value) {
    let body = json!({"name": "shared", "kind": "custom", "phase": phase, "rules": rules});
    let made = api.post(&format!("{owner}/rulesets"), &body);
    (made["id"].as_str().unwrap().to_owned(), made)
}

fn put(api: &Api, owner: &str, rules: &[Value]) {
    api.result("PUT", &format!("{owner}/rulesets/phases/{PHASE}/entrypoint"), &json!({"rules": rules}));
}

fn get(edge: &Edge, host: &str, target: &str) -> u16 {
    Client::get(edge.proxy[0], host, target).status
}

#[test]
fn the_rules_of_one_run_wherever_an_entry_point_runs_it_and_events_name_it() {
    let origin = Origin::echo();
    let (mut edge, api) = edge(&origin);
    let (one, two) = (zone(&api, "a.example", &origin), zone(&api, "b.example", &origin));
    let account = "/accounts/acme";
    let (id, made) = custom(&api, account, PHASE, &[block("/admin"), rule("log", "true", &Value::Null)]);
    assert_eq!((&made["kind"], &made["version"]), (&json!("custom"), &json!("1")));
    assert_eq!(api.get(&format!("{account}/rulesets/{id}")), made);
    let listed = api.get(&format!("{account}/rulesets"));
    assert!(listed.as_array().unwrap().iter().any(|ruleset| ruleset["id"] == id.as_str()));
    assert_eq!(get(&edge, "a.example", "/admin"), 200, "nothing runs it");
    // Of a zone, for part of its requests; then of the account, for all zones.
    put(&api, &format!("/zones/{one}"), &[run(&id, "http.request.method eq \"GET\"")]);
    assert_eq!((get(&edge, "a.example", "/admin"), get(&edge, "b.example", "/admin")), (403, 200));
    let posted = Client::post(edge.proxy[0], "a.example", "/admin", "text/plain", b"x");
    assert_eq!(posted.status, 200);
    put(&api, account, &[run(&id, "true")]);
    assert_eq!(get(&edge, "b.example", "/admin"), 403);
    let event = wait_for("the event", || {
        api.get(&format!("/zones/{two}/security/events?per_page=1")).as_array()?.first().cloned()
    });
    assert_eq!((&event["RuleID"], &event["Action"]), (&made["rules"][0]["id"], &json!("block")), "{event}");
    // A change holds for all that run it, and is kept as a version.
    let added = api.post(&format!("{account}/rulesets/{id}/rules"), &block("/secret"));
    assert_eq!((&added["version"], added["rules"].as_array().unwrap().len()), (&json!("2"), 3));
    assert_eq!((get(&edge, "a.example", "/secret"), get(&edge, "b.example", "/secret")), (403, 403));
    let versions = api.get(&format!("{account}/rulesets/{id}/versions"));
    assert_eq!(versions.as_array().unwrap().len(), 2, "{versions}");
    let restored = api.result("POST", &format!("{account}/rulesets/{id}/versions/1/restore"), &Value::Null);
    assert_eq!((&restored["version"], restored["rules"].as_array().unwrap().len()), (&json!("3"), 2));
    assert_eq!(get(&edge, "a.example", "/secret"), 200);
    // It is kept over a restart, and not deleted while it is run.
    edge.signal("KILL");
    edge.wait_for_exit();
    let edge = edge.again();
    let api = Api::new(&edge, crate::api::TOKEN);
    assert_eq!((get(&edge, "a.example", "/admin"), get(&edge, "b.example", "/admin")), (403, 403));
    let path = format!("{account}/rulesets/{id}");
    assert_eq!(api.refused("DELETE", &path, &Value::Null), (409, vec![20131]));
    put(&api, account, &[]);
    assert_eq!(api.refused("DELETE", &path, &Value::Null), (409, vec![20131]));
    put(&api, &format!("/zones/{one}"), &[]);
    assert_eq!(api.call("DELETE", &path, &Value::Null).0, 204);
    assert_eq!(api.call("GET", &path, &Value::Null).0, 404);
}

#[test]
fn a_skip_in_one_leaves_its_own_rest_and_others_skip_it_or_rules_of_it() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let owner = format!("/zones/{id}");
    let is = |text: &str| format!("http.request.uri.query eq \"{text}\"");
    let skip = |query: &str, parameters: &Value| rule("skip", &is(query), parameters);
    let (shared, made) = custom(
        &api,
        &owner,
        PHASE,
        &[
            skip("rest", &json!({"ruleset": "current"})),
            skip("phase", &json!({"phases": [PHASE]})),
            block("/a"),
            rule("challenge", "starts_with(http.request.uri.path, \"/c\")", &Value::Null),
        ],
    );
    let blocking = made["rules"][2]["id"].as_str().unwrap();
    put(
        &api,
        &owner,
        &[
            skip("all", &json!({"rulesets": [shared]})),
            skip("one", &json!({"rules": {shared.as_str(): [blocking]}})),
            run(&shared, "true"),
            block("/a/b"),
        ],
    );
    for (target, status) in [
        ("/", 200),
        ("/a", 403),
        ("/c", 403),
        ("/a?rest", 200),
        ("/a/b?rest", 403),
        ("/a/b?phase", 200),
        ("/a?all", 200),
        ("/a/b?all", 403),
        ("/c?all", 200),
        ("/a?one", 200),
        ("/c?one", 403),
    ] {
        assert_eq!(get(&edge, "a.example", target), status, "{target}");
    }
    // A rule that is not enabled can still be named.
    let mut off = block("/a");
    off["enabled"] = json!(false);
    api.result("PATCH", &format!("{owner}/rulesets/{shared}/rules/{blocking}"), &off);
    assert_eq!(get(&edge, "a.example", "/a"), 200);
}

#[test]
fn rates_are_shared_by_all_zones_that_run_it_and_outlast_changes() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    zone(&api, "a.example", &origin);
    zone(&api, "b.example", &origin);
    let phase = "http_ratelimit";
    let mut limited = block("/login");
    limited["ratelimit"] = json!({"characteristics": ["ip.src"], "period": 60, "requests_per_period": 3, "mitigation_timeout": 60});
    let (id, _) = custom(&api, "/accounts/acme", phase, &[limited]);
    let entry_point = format!("/accounts/acme/rulesets/phases/{phase}/entrypoint");
    api.result("PUT", &entry_point, &json!({"rules": [run(&id, "true")]}));
    let statuses = ["a.example", "b.example", "a.example"].map(|host| get(&edge, host, "/login"));
    assert_eq!(statuses, [200; 3]);
    let renamed = json!({"rules": [run(&id, "http.host ne \"c.example\"")]});
    api.result("PUT", &entry_point, &renamed);
    assert_eq!(get(&edge, "b.example", "/login"), 429, "the change has not forgotten what was counted");
}

#[test]
fn what_cannot_be_run_is_refused_with_the_reason() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let (owner, other) = (format!("/zones/{id}"), format!("/zones/{}", zone(&api, "b.example", &origin)));
    let (own, _) = custom(&api, &owner, PHASE, &[block("/a")]);
    let (rates, _) = custom(&api, "/accounts/acme", "http_ratelimit", &[]);
    let path = |owner: &str| format!("{owner}/rulesets/phases/{PHASE}/entrypoint");
    let mut overriding = run(&own, "true");
    overriding["action_parameters"]["overrides"] = json!({"enabled": false});
    let mut old = run(&own, "true");
    old["action_parameters"]["version"] = json!("7");
    for (owner, rule, code, words) in [
        (&other, run(&own, "true"), 20127, "has no ruleset"),
        (&owner, run(&rates, "true"), 20127, "is for phase `http_ratelimit`"),
        (&owner, overriding, 20129, "are for managed rulesets"),
        (&owner, old, 20128, "only the latest version"),
        (&owner, rule("skip", "true", &json!({"rulesets": ["none"]})), 20127, "no ruleset `none`"),
    ] {
        let (status, answer) = api.call("PUT", &path(owner), &json!({"rules": [rule]}));
        let error = &answer["errors"][0];
        assert_eq!((status, &error["code"]), (400, &json!(code)), "{answer}");
        assert!(error["message"].as_str().unwrap().contains(words), "{answer}");
    }
    // No ruleset runs one that runs one, so that none runs itself.
    let nested = api.refused("POST", &format!("{owner}/rulesets/{own}/rules"), &run(&own, "true"));
    assert_eq!(nested, (400, vec![20127]));
    let wrong = json!({"kind": "custom", "rules": []});
    assert_eq!(api.refused("PUT", &path(&owner), &wrong), (400, vec![20021]));
    let wrong = json!({"kind": "zone", "rules": []});
    assert_eq!(api.refused("PUT", &format!("{owner}/rulesets/{own}"), &wrong), (400, vec![20021]));
}

#[test]
fn a_rule_named_as_a_managed_one_is_not_that_one() {
    let origin = Origin::echo();
    let attack = "/?q=1'%20UNION%20SELECT%20password%20FROM%20users--";
    let conf = |skip: &str| {
        format!(
            "[[listeners]]\naddress = \"127.0.0.1:0\"\n[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n\
             [zones.waf]\n[[zones.rulesets]]\nphase = \"{PHASE}\"\n{skip}\
             [[zones.rulesets.rules]]\naction = \"execute\"\naction_parameters = {{ id = \"shared\" }}\n\
             [[zones.rulesets]]\nid = \"shared\"\nkind = \"custom\"\nphase = \"{PHASE}\"\n\
             [[zones.rulesets.rules]]\nid = \"42001\"\naction = \"block\"\nexpression = 'http.request.uri.path eq \"/a\"'\n",
            origin.url()
        )
    };
    let plain = Edge::start(&conf(""));
    assert_eq!((get(&plain, "a.example", "/a"), get(&plain, "a.example", attack)), (403, 403));
    let skip = "[[zones.rulesets.rules]]\naction = \"skip\"\naction_parameters = { rules = { shared = [\"42001\"] } }\n";
    let skipping = Edge::start(&conf(skip));
    assert_eq!((get(&skipping, "a.example", "/a"), get(&skipping, "a.example", attack)), (200, 403));
}

#[test]
fn files_have_them_too() {
    let origin = Origin::echo();
    let zones = format!("[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n", origin.url());
    let ruleset = |table: &str, id: &str, rule: &str| {
        format!("[[{table}]]\nphase = \"{PHASE}\"\nkind = \"custom\"\n{id}[[{table}.rules]]\n{rule}\n")
    };
    let block = "action = \"block\"\nexpression = 'http.request.uri.path eq \"/a\"'";
    let entry_point = format!(
        "[[zones.rulesets]]\nphase = \"{PHASE}\"\n[[zones.rulesets.rules]]\naction = \"execute\"\n\
         action_parameters = {{ id = \"shared\" }}\n[[zones.rulesets.rules]]\naction = \"execute\"\n\
         action_parameters = {{ id = \"own\" }}\n"
    );
    let listener = "[[listeners]]\naddress = \"127.0.0.1:0\"\n";
    let own = ruleset("zones.rulesets", "id = \"own\"\n", &block.replace("/a", "/b"));
    let shared = ruleset("rulesets", "id = \"shared\"\n", block);
    let edge = Edge::start(&format!("{listener}{shared}{zones}{entry_point}{own}"));
    let statuses = ["/a", "/b", "/c"].map(|target| get(&edge, "a.example", target));
    assert_eq!(statuses, [403, 403, 200]);
    let nameless = refused_by_check(&format!("{listener}{}{zones}", ruleset("rulesets", "", block)));
    assert!(nameless.contains("needs an `id`"), "{nameless}");
    let twice = refused_by_check(&format!("{listener}{shared}{shared}{zones}"));
    assert!(twice.contains("two `rulesets` of the id `shared`"), "{twice}");
    let missing = refused_by_check(&format!("{listener}{zones}{entry_point}{own}"));
    assert!(missing.contains("has no ruleset `shared`"), "{missing}");
}
