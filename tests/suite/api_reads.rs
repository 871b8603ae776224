//! What the management API shows: lists, managed rulesets, its own description.

use serde_json::{Value, json};

use crate::api::{REQUESTS, RESPONSES, edge, managed, zone};
use crate::support::Origin;

#[test]
fn lists_have_pages_filters_and_an_end() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    for name in ["a.example", "b.example", "c.test"] {
        zone(&api, name, &origin);
    }
    let names = |query: &str| {
        let (status, answer) = api.call("GET", &format!("/zones{query}"), &Value::Null);
        assert_eq!(status, 200, "{query}: {answer}");
        let names: Vec<_> = answer["result"]
            .as_array()
            .unwrap()
            .iter()
            .map(|zone| zone["name"].as_str().unwrap().to_owned())
            .collect();
        (names.join(" "), answer["result_info"].clone())
    };
    for (query, expected) in [
        ("", "a.example b.example c.test file.example"),
        ("/?name=A.example", "a.example"),
        ("?name=contains:.ex&direction=desc", "file.example b.example a.example"),
        ("?name=ends_with:.test&account.id=acme", "c.test"),
        ("?name=not_equal:c.test&account.id=acme", "a.example b.example"),
        ("?name=c.test&account.id=default&match=any", "c.test file.example"),
        ("?name=c.test&account.id=default&match=all", ""),
        ("?status=active&type=full,partial&per_page=2&page=2", "c.test file.example"),
        ("?per_page=1.0&page=1.0", "a.example"),
        ("?page=9", ""),
    ] {
        assert_eq!(names(query).0, expected, "{query}");
    }
    let (_, info) = names("?per_page=3&page=2");
    assert_eq!(info, json!({"page": 2, "per_page": 3, "count": 1, "total_count": 4, "total_pages": 2}));
    let (_, info) = names("?name=none.example");
    assert_eq!((&info["total_count"], &info["total_pages"]), (&json!(0), &json!(1)));
    for query in ["?page=x", "?direction=up", "?match=some", "?color=red"] {
        assert_eq!(
            api.refused("GET", &format!("/zones{query}"), &Value::Null),
            (400, vec![10006]),
            "{query}"
        );
    }
    // What shell clients search the text for.
    let text = api.ask("GET", "/zones?name=a.example", "", "").text();
    assert!(text.starts_with("{\"result\":[{\"id\":\""), "{text}");
    assert!(text.contains("\"name\":\"a.example\"") && text.contains("\"success\":true"), "{text}");
    assert!(
        text.contains("\"count\":1,") && text.find("\"name\"").unwrap() < text.find("\"account\"").unwrap()
    );
}

/// What the specification says of managed rulesets and their rules.
#[test]
fn managed_rulesets_have_every_field() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    for (phase, last) in [(REQUESTS, "block"), (RESPONSES, "log")] {
        let id = managed(&api, phase);
        let path = format!("/accounts/acme/rulesets/{id}");
        let ruleset = api.get(&path);
        let texts = ["id", "name", "description", "last_updated", "version"];
        assert!(texts.iter().all(|name| !ruleset[*name].as_str().unwrap().is_empty()), "{phase}");
        assert_eq!(
            (&ruleset["source"], &ruleset["kind"], &ruleset["phase"]),
            (&json!("firewall_managed"), &json!("managed"), &json!(phase))
        );
        let rules = ruleset["rules"].as_array().unwrap();
        assert!(rules.len() > 200, "{phase}: {}", rules.len());
        for rule in rules {
            let texts = ["id", "version", "action", "description", "ref", "last_updated", "expression"];
            assert!(texts.iter().all(|name| !rule[*name].as_str().unwrap().is_empty()), "{rule}");
            assert!(
                rule["enabled"].is_boolean() && !rule["description"].as_str().unwrap().contains("%{"),
                "{rule}"
            );
        }
        let threshold = rules.last().unwrap();
        assert_eq!(threshold["action"], last);
        assert_eq!(
            threshold["score_threshold"].is_i64(),
            phase == REQUESTS,
            "the threshold rule is the last"
        );
        let versions = api.get(&format!("{path}/versions"));
        assert_eq!((versions.as_array().unwrap().len(), &versions[0]["version"]), (1, &ruleset["version"]));
        assert_eq!(api.get(&format!("{path}/versions/1")), ruleset);
        assert_eq!(api.refused("GET", &format!("{path}/versions/2"), &Value::Null), (404, vec![10003]));
    }
    let tagged = api.get(&format!(
        "/accounts/acme/rulesets/{}/versions/1/by_tag/paranoia-level-1",
        managed(&api, REQUESTS)
    ));
    assert!((1..270).contains(&tagged["rules"].as_array().unwrap().len()), "some, not all");
    assert_eq!(
        api.refused("GET", &format!("/accounts/acme/rulesets/phases/{REQUESTS}/entrypoint"), &Value::Null),
        (404, vec![10003])
    );
}

/// Names of zones in letters of any script are those that names have (RFC 5891).
#[test]
fn zones_are_made_and_found_by_names_of_any_script() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    let made = api.post("/zones", &json!({"name": "Bücher.Example"}));
    assert_eq!(made["name"], "xn--bcher-kva.example");
    for name in ["b%C3%BCcher.example", "xn--bcher-kva.example", "B%C3%9CCHER.example."] {
        assert_eq!(api.get(&format!("/zones/{name}"))["id"], made["id"], "{name}");
        assert_eq!(api.get(&format!("/zones?name={name}"))[0]["id"], made["id"], "{name}");
    }
    assert_eq!(api.refused("POST", "/zones", &json!({"name": "bücher.example"})), (400, vec![1061]));
    assert_eq!(api.refused("POST", "/zones", &json!({"name": "a\u{202e}b.example"})), (400, vec![1049]));
}

/// The description of the API changes only where somebody wrote it down: `RECORD=1` writes it anew.
#[test]
fn the_description_is_that_of_the_repository() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    let document: Value = serde_json::from_slice(&api.ask("GET", "/openapi.json", "", "").body).unwrap();
    let text = serde_json::to_string_pretty(&document).unwrap() + "\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/api/openapi.json");
    if std::env::var("RECORD").is_ok() {
        std::fs::create_dir_all(std::path::Path::new(path).parent().unwrap()).unwrap();
        std::fs::write(path, &text).unwrap();
    }
    let recorded = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        recorded == text,
        "the API is not as tests/data/api/openapi.json describes it; RECORD=1 writes it anew"
    );
    for schema in document["components"]["schemas"].as_object().unwrap().values() {
        for field in schema["properties"]
            .as_object()
            .unwrap()
            .values()
            .filter(|_| schema.get("x-required-on-write").is_some())
        {
            assert!(!field["description"].as_str().unwrap().is_empty(), "{field}");
        }
    }
}

/// While a zone is held nobody else makes a zone below it.
#[test]
fn a_hold_keeps_others_from_zones_below() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    let held = zone(&api, "held.example", &origin);
    let path = format!("/zones/{held}/hold");
    assert_eq!(api.get(&path), json!({"hold": false, "include_subdomains": false}));
    let make = |name: &str, account: &str| {
        api.call("POST", "/zones", &json!({"name": name, "account": {"id": account}})).1["errors"][0]["code"]
            .as_u64()
    };
    assert_eq!(api.post(&path, &Value::Null)["hold"], true);
    assert_eq!(make("a.held.example", "default"), None, "only the zone itself is held");
    let shown = api.post(&format!("{path}?include_subdomains=true"), &Value::Null);
    assert_eq!((&shown["hold"], &shown["include_subdomains"]), (&json!(true), &json!(true)));
    assert_eq!(make("b.held.example", "default"), Some(1093));
    assert_eq!(make("notheld.example", "default"), None);
    assert_eq!(make("c.held.example", "acme"), None, "its own account may");
    // Released for a while, then held again by itself.
    let released = api.result("DELETE", &format!("{path}?hold_after=2099-01-01T00:00:00Z"), &Value::Null);
    assert_eq!(
        (&released["hold"], &released["hold_after"]),
        (&json!(false), &json!("2099-01-01T00:00:00.000000Z"))
    );
    assert_eq!(make("d.held.example", "default"), None);
    assert_eq!(api.result("PATCH", &path, &json!({"hold_after": ""}))["hold"], true);
    assert_eq!(make("e.held.example", "default"), Some(1093));
    assert_eq!(api.call("PATCH", &path, &json!({"hold_after": "soon"})).0, 400);
    assert_eq!(api.result("DELETE", &path, &Value::Null)["hold"], false);
    assert_eq!(make("e.held.example", "default"), None);
    assert_eq!(api.call("POST", "/zones/file.example/hold", &Value::Null).0, 409, "a file declares it");
}
