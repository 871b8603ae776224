//! Entry points of accounts: they run before those of their zones.

use serde_json::{Value, json};
use store::{SqliteStore, Store};

use crate::api::{REQUESTS, TOKEN, edge, execute, managed, zone};
use crate::support::{Api, Client, Edge, Origin};

const ATTACK: &str = "/shop?q=1'%20UNION%20SELECT%20password%20FROM%20users--";

#[test]
fn an_entry_point_of_an_account_runs_for_all_its_zones_and_no_others() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let status = |host: &str| Client::get(edge.proxy[0], host, ATTACK).status;
    for name in ["one.example", "two.example"] {
        zone(&api, name, &origin);
        assert_eq!(status(name), 200, "nothing runs for {name} yet");
    }
    let rulesets = "/accounts/acme/rulesets";
    let entry_point = format!("{rulesets}/phases/{REQUESTS}/entrypoint");
    assert_eq!(api.refused("GET", &entry_point, &Value::Null), (404, vec![10003]));
    let execute = execute(&managed(&api, REQUESTS));
    let rules = json!({"kind": "zone", "name": "all", "phase": REQUESTS, "rules": [execute]});
    assert_eq!(api.refused("POST", rulesets, &rules), (400, vec![20021]), "accounts have the kind `root`");
    let made =
        api.post(rulesets, &json!({"kind": "root", "name": "all", "phase": REQUESTS, "rules": [execute]}));
    assert_eq!(
        (&made["kind"], &made["version"], &made["name"]),
        (&json!("root"), &json!("1"), &json!("all"))
    );
    let again = json!({"kind": "root", "name": "all", "phase": REQUESTS, "rules": []});
    assert_eq!(api.refused("POST", rulesets, &again), (400, vec![20217]));
    assert_eq!((status("one.example"), status("two.example")), (403, 403));
    // A zone that is made later has them from its first request on.
    zone(&api, "three.example", &origin);
    assert_eq!(status("three.example"), 403);
    let of_default = api.post("/zones", &json!({"name": "four.example", "origins": [origin.url()]}));
    assert_eq!((&of_default["account"]["id"], status("four.example")), (&json!("default"), 200));
    // It is found, changed and forgotten as those of zones are.
    let id = made["id"].as_str().unwrap();
    assert_eq!(api.get(&entry_point), api.get(&format!("{rulesets}/{id}")));
    assert!(api.get(rulesets).as_array().unwrap().iter().any(|ruleset| ruleset["id"] == *id));
    let mut only_two = execute;
    only_two["expression"] = json!("http.host eq \"two.example\"");
    let changed = api.result("PUT", &entry_point, &json!({"rules": [only_two]}));
    assert_eq!((&changed["version"], changed["id"].as_str()), (&json!("2"), Some(id)));
    assert_eq!((status("one.example"), status("two.example")), (200, 403));
    let versions = api.get(&format!("{entry_point}/versions"));
    assert_eq!(versions.as_array().unwrap().len(), 2);
    assert_eq!(api.get(&format!("{entry_point}/history"))[0]["version"], "2");
    api.result("POST", &format!("{rulesets}/{id}/versions/1/restore"), &Value::Null);
    assert_eq!((status("one.example"), status("two.example")), (403, 403));
    let broken = json!({"rules": [{"action": "execute", "expression": "http.nothing eq 1", "action_parameters": {"id": "no"}}]});
    let (refused, answer) = api.call("PUT", &entry_point, &broken);
    let pointers: Vec<_> =
        answer["errors"].as_array().unwrap().iter().map(|error| &error["source"]["pointer"]).collect();
    assert_eq!(refused, 400, "{answer}");
    assert_eq!(
        pointers,
        ["/rules/0/expression", "/rules/0/action_parameters/id"],
        "once, whatever number of zones"
    );
    api.result("DELETE", &format!("{rulesets}/{id}"), &Value::Null);
    assert_eq!((status("one.example"), status("two.example")), (200, 200));
    let nobodys = format!("/accounts/nobody/rulesets/phases/{REQUESTS}/entrypoint");
    assert_eq!(api.refused("PUT", &nobodys, &json!({"rules": []})), (404, vec![7003, 7000]));
}

#[test]
fn an_entry_point_of_the_account_of_a_file_runs_and_refuses_writes() {
    let origin = Origin::echo();
    let (_probed, probe) = edge(&origin);
    let owasp = managed(&probe, REQUESTS);
    let edge = Edge::start(&format!(
        "[[rulesets]]\nphase = \"{REQUESTS}\"\n[[rulesets.rules]]\naction = \"execute\"\naction_parameters = {{ id = \"{owasp}\" }}\n\
         [[listeners]]\naddress = \"127.0.0.1:0\"\n[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n\
         [[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\nrulesets = []\n",
        origin.url()
    ));
    assert_eq!(Client::get(edge.proxy[0], "a.example", ATTACK).status, 403);
    let api = Api::new(&edge, TOKEN);
    let entry_point = format!("/accounts/default/rulesets/phases/{REQUESTS}/entrypoint");
    let shown = api.get(&entry_point);
    assert_eq!((&shown["kind"], &shown["name"]), (&json!("root"), &json!("default")));
    assert!(shown["last_updated"].as_str().is_some_and(|at| at.starts_with("20")), "{shown}");
    let (status, answer) = api.call("PUT", &entry_point, &json!({"rules": []}));
    let message = answer["errors"][0]["message"].as_str().unwrap();
    assert!(status == 409 && message.contains("p.toml:1"), "{answer}");
}

#[test]
fn what_an_account_had_goes_with_it() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let id = api.post("/accounts", &json!({"name": "short"}))["id"].as_str().unwrap().to_owned();
    let make = |list: &str, body: Value| api.post(&format!("/accounts/{id}/{list}"), &body);
    make("rules/lists", json!({"name": "office", "kind": "ip"}));
    make(
        "custom_csrs",
        json!({"common_name": "a.dev", "sans": ["a.dev"], "country": "DE", "state": "B", "locality": "B",
            "organization": "A", "key_type": "p256v1"}),
    );
    make("access/apps", json!({"name": "app", "destinations": []}));
    let kept = || {
        let store = SqliteStore::open(&edge.folder.path().join("state")).unwrap();
        let all = store.load().unwrap().1;
        [all.lists.len(), all.signing_requests.len(), all.access_apps.len()]
    };
    assert_eq!(kept(), [1; 3]);
    api.result("DELETE", &format!("/accounts/{id}"), &Value::Null);
    assert_eq!(kept(), [0; 3]);
}
