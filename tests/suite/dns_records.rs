//! DNS records over the API: every type as it was written, every rule by its code.

use serde_json::{Value, json};

use crate::api::TOKEN;
use crate::support::{Api, Edge};

/// An edge with `[dns]` settings and a zone of the API; its records' path.
pub(crate) fn zone(settings: &str, name: &str) -> (Edge, Api, String) {
    let edge = Edge::start(&format!(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\n[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n\
         [dns]\naddresses = [\"192.0.2.53\"]\n{settings}\n"
    ));
    let api = Api::new(&edge, TOKEN);
    let zone = api.post("/zones", &json!({"name": name}));
    let records = format!("/zones/{}/dns_records", zone["id"].as_str().unwrap());
    (edge, api, records)
}

pub(crate) fn id(record: &Value) -> &str {
    record["id"].as_str().unwrap()
}

/// Type, name, what is written beside them, and the content that is made of it.
pub(crate) fn examples() -> Vec<(String, String, Value, String)> {
    let lines = include_str!("../data/dns/types.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn record(record_type: &str, name: &str, value: &Value) -> Value {
    let mut record = json!({"type": record_type, "name": name});
    record.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
    record
}

#[test]
fn records_of_every_type_are_shown_as_they_were_written_and_what_changes_nothing_is_no_change() {
    let (_edge, api, records) = zone("", "example.com");
    let examples = examples();
    assert_eq!(examples.len(), 21);
    for (record_type, name, value, content) in &examples {
        let written = record(record_type, name, value);
        let made = api.post(&records, &written);
        let whole = if name == "@" { "example.com".to_owned() } else { format!("{name}.example.com") };
        assert_eq!(
            (&made["content"], &made["name"], &made["ttl"]),
            (&json!(content), &json!(whole), &json!(1)),
            "{made}"
        );
        assert_eq!(made["proxiable"], matches!(record_type.as_str(), "A" | "AAAA" | "CNAME"), "{made}");
        let expected_meta = json!({"auto_added": false, "managed_by_apps": false, "managed_by_svc_tunnel": false, "source": "primary"});
        assert_eq!(
            (&made["meta"], &made["proxied"], &made["tags"]),
            (&expected_meta, &json!(false), &json!([]))
        );
        for (field, sent) in value.get("data").and_then(Value::as_object).into_iter().flatten() {
            assert_eq!(made["data"][field], *sent, "{field}: {made}");
        }
        assert_eq!(
            made.get("priority").is_some(),
            matches!(record_type.as_str(), "MX" | "SRV" | "URI"),
            "{made}"
        );
        let gone = ["zone_id", "zone_name", "locked", "comment_modified_on"];
        assert!(gone.iter().all(|field| made.get(field).is_none()), "{made}");
        let path = format!("{records}/{}", id(&made));
        assert_eq!(api.get(&path), made, "a write is shown as it is read");
        for method in ["PUT", "PATCH"] {
            let mut same = written.clone();
            (same["locked"], same["zone_id"], same["created_on"]) = (json!(true), json!("x"), json!("then"));
            assert_eq!(api.result(method, &path, &same), made, "{method} {record_type}");
        }
        // The content is taken in the place of the fields.
        let mut by_content = made.clone();
        by_content.as_object_mut().unwrap().remove("data");
        assert_eq!(api.result("PUT", &path, &by_content), made, "{record_type}");
        assert_eq!(api.refused("POST", &records, &written), (400, vec![81058]), "{record_type}");
    }
    let all = api.get(&format!("{records}?per_page=100.0"));
    let types: Vec<&str> =
        all.as_array().unwrap().iter().map(|record| record["type"].as_str().unwrap()).collect();
    assert!(types.len() == 21 && types.is_sorted(), "{types:?}");
    let first = api.ask("GET", &format!("{records}?type=SRV"), "", "").text();
    let order = [
        "{\"result\":[{\"id\":",
        "\"name\":",
        "\"type\":",
        "\"content\":",
        "\"priority\":",
        "\"proxiable\":",
        "\"proxied\":",
        "\"ttl\":",
        "\"settings\":{}",
        "\"data\":{\"priority\":",
        "\"meta\":",
        "\"comment\":null",
        "\"tags\":[]",
        "\"created_on\":",
        "\"modified_on\":",
    ];
    let places: Vec<usize> =
        order.iter().map(|field| first.find(field).unwrap_or_else(|| panic!("{field}: {first}"))).collect();
    assert!(places.is_sorted(), "{first}");
}

#[test]
fn every_rule_of_records_refuses_by_its_code_and_place() {
    let (_edge, api, records) = zone("", "example.com");
    let taken = json!({"type": "CNAME", "name": "taken", "content": "x.example"});
    api.post(&records, &taken);
    api.post(&records, &json!({"type": "NS", "name": "cut", "content": "ns.example"}));
    api.post(&records, &json!({"type": "A", "name": "a", "content": "192.0.2.1"}));
    let rules = include_str!("../data/dns/refused.jsonl");
    assert_eq!(rules.lines().count(), 51);
    for rule in rules.lines() {
        let (body, code, pointer): (Value, u64, String) = serde_json::from_str(rule).unwrap();
        let (status, answer) = api.call("POST", &records, &body);
        let error = &answer["errors"][0];
        assert_eq!(
            (status, error["code"].as_u64(), error["source"]["pointer"].as_str()),
            (400, Some(code), Some(pointer.as_str())),
            "{body}: {answer}"
        );
        assert!(
            error.get("error_chain").is_none() && !error["message"].as_str().unwrap().is_empty(),
            "{answer}"
        );
    }
    let wrong = json!({"type": "A", "name": "1", "content": "x", "ttl": 5, "comment": "\n"});
    assert_eq!(api.refused("POST", &records, &wrong), (400, vec![9000, 9005, 9021, 10008]), "all at once");
    for id in ["0".repeat(32), "F".repeat(32), "nonsense".to_owned()] {
        let missing = format!("{records}/{id}");
        for method in ["GET", "PATCH", "PUT", "DELETE"] {
            assert_eq!(api.refused(method, &missing, &taken), (404, vec![81044]), "{method} {id}");
        }
    }
    for nth in 0..2 {
        api.post(
            &records,
            &json!({"type": "TXT", "name": "long", "content": format!("{nth}{}", "x".repeat(4_000))}),
        );
    }
    let third = json!({"type": "TXT", "name": "long", "content": "x".repeat(300)});
    assert_eq!(api.refused("POST", &records, &third), (400, vec![83011]));
}

#[test]
fn names_and_texts_are_normalised_as_clients_expect() {
    let (_edge, api, records) = zone("", "example.com");
    let name = |name: &str| {
        let record = json!({"type": "TXT", "name": name, "content": "x", "ttl": "300"});
        let (status, answer) = api.call("POST", &records, &record);
        assert_eq!(status, 200, "{name}: {answer}");
        let record = &answer["result"];
        api.result("DELETE", &format!("{records}/{}", id(record)), &json!({}));
        (record["name"].as_str().unwrap().to_owned(), answer["messages"].as_array().unwrap().len())
    };
    for (written, expected) in [
        ("@", "example.com"),
        ("example.com", "example.com"),
        ("EXAMPLE.com.", "example.com"),
        ("www", "www.example.com"),
        ("WWW.Example.COM.", "www.example.com"),
        ("*", "*.example.com"),
        ("*.a.b", "*.a.b.example.com"),
        ("_acme-challenge", "_acme-challenge.example.com"),
        ("1.2", "1.2.example.com"),
        ("bücher", "xn--bcher-kva.example.com"),
        ("notexample.com.example.com", "notexample.com.example.com"),
    ] {
        assert_eq!(name(written), (expected.to_owned(), 0), "{written}");
    }
    assert_eq!(
        name("www.other.com"),
        ("www.other.com.example.com".to_owned(), 1),
        "looks like a name outside the zone"
    );
    let text = |content: &str| {
        let made = api.post(&records, &json!({"type": "TXT", "name": "t", "content": content}));
        let path = format!("{records}/{}", id(&made));
        for filter in ["content", "content.exact"] {
            for sent in [content.to_owned(), made["content"].as_str().unwrap().to_owned()] {
                let sent: String = sent.bytes().map(|byte| format!("%{byte:02x}")).collect();
                let found = api.get(&format!("{records}?type=TXT&{filter}={sent}"));
                assert_eq!(found.as_array().unwrap().len(), 1, "{content}");
            }
        }
        api.result("DELETE", &path, &Value::Null);
        made["content"].as_str().unwrap().to_owned()
    };
    assert_eq!(text("token"), "\"token\"");
    assert_eq!(text("v=spf1 a -all"), "\"v=spf1 a -all\"");
    assert_eq!(text("\"a\"  \"b\""), "\"a\" \"b\"");
    assert_eq!(text(r#""a\"b""#), r#""a\"b""#);
    assert_eq!(text(&"x".repeat(300)), format!("\"{}\" \"{}\"", "x".repeat(255), "x".repeat(45)));
}

#[test]
fn settings_take_what_else_is_refused() {
    let settings =
        "strict_names = false\nsrv_names = \"ignore\"\ntxt_content = \"as_sent\"\nprivate_origins = true\n";
    let (_edge, api, records) = zone(settings, "example.com");
    api.post(&records, &json!({"type": "A", "name": "1a", "content": "10.0.0.1", "proxied": true}));
    let data = json!({"priority": 1, "port": 1, "target": "x.example", "service": "_a", "proto": "_tcp", "name": "x"});
    let made = api.post(&records, &json!({"type": "SRV", "name": "_a._tcp.x", "data": data}));
    assert_eq!(made["data"], json!({"priority": 1, "weight": 0, "port": 1, "target": "x.example"}));
    let content = |sent: &str| {
        api.post(&records, &json!({"type": "TXT", "name": "t", "content": sent}))["content"].clone()
    };
    assert_eq!((content("token"), content("\"quoted\"")), (json!("token"), json!("\"quoted\"")));
}

#[test]
fn records_are_changed_and_replaced() {
    let (_edge, api, records) = zone("", "example.com");
    let made = api.post(
        &records,
        &json!({"type": "A", "name": "www", "content": "198.51.100.1", "ttl": 600, "proxied": true, "comment": "why",
            "tags": ["owner:team", "x"], "settings": {"ipv4_only": true}}),
    );
    assert_eq!(
        (&made["ttl"], &made["proxied"], &made["settings"]),
        (&json!(1), &json!(true), &json!({"ipv4_only": true}))
    );
    assert_eq!(
        (&made["comment_modified_on"], &made["tags"]),
        (&made["created_on"], &json!(["owner:team", "x"]))
    );
    let path = format!("{records}/{}", id(&made));
    let changed = api.result("PATCH", &path, &json!({"content": "198.51.100.2"}));
    let mut expected = made.clone();
    (expected["content"], expected["modified_on"]) = (json!("198.51.100.2"), changed["modified_on"].clone());
    assert_eq!(changed, expected, "the rest stays");
    assert_ne!(changed["modified_on"], made["modified_on"]);
    let unproxied = api.result("PATCH", &path, &json!({"proxied": false, "ttl": 120, "comment": null}));
    assert_eq!((&unproxied["ttl"], &unproxied["comment"]), (&json!(120), &Value::Null));
    assert!(unproxied.get("comment_modified_on").is_none());
    let replaced = api.result("PUT", &path, &json!({"type": "CNAME", "name": "www", "content": "x.example"}));
    assert_eq!(
        (&replaced["type"], &replaced["ttl"], &replaced["tags"], &replaced["settings"], &replaced["id"]),
        (&json!("CNAME"), &json!(1), &json!([]), &json!({"flatten_cname": false}), &made["id"])
    );
    let mail =
        api.post(&records, &json!({"type": "MX", "name": "@", "content": "m.example", "priority": "10"}));
    let mail_path = format!("{records}/{}", id(&mail));
    let changed = api.result("PATCH", &mail_path, &json!({"priority": 20}));
    assert_eq!((&changed["priority"], &changed["content"]), (&json!(20), &json!("m.example")));
    let srv = api.post(
        &records,
        &json!({"type": "SRV", "name": "_a._tcp", "data": {"port": 1, "target": "a.example"}}),
    );
    let changed = api.result("PATCH", &format!("{records}/{}", id(&srv)), &json!({"data": {"port": 2}}));
    assert_eq!(changed["data"], json!({"priority": 0, "weight": 0, "port": 2, "target": "a.example"}));
    let dry = api.result("PATCH", &format!("{path}?dry_run=true"), &json!({"content": "y.example"}));
    assert_eq!((&dry["content"], &api.get(&path)["content"]), (&json!("y.example"), &json!("x.example")));
    let tag = api.ask("GET", &path, "", "").header("etag").unwrap().to_owned();
    let stale = api.ask("PATCH", &path, "If-Match: \"1\"\r\n", "{\"ttl\":60}");
    assert_eq!(stale.status, 412);
    assert_eq!(api.ask("PATCH", &path, &format!("If-Match: {tag}\r\n"), "{\"ttl\":60}").status, 200);
    let gone = api.result("DELETE", &path, &Value::Null);
    assert_eq!((&gone, api.refused("GET", &path, &Value::Null).0), (&json!({"id": made["id"]}), 404));
}

#[test]
fn records_are_kept_counted_and_go_with_their_zone() {
    let (mut edge, api, records) = zone("", "example.com");
    let made = api.post(&records, &json!({"type": "A", "name": "www", "content": "192.0.2.1"}));
    let path = format!("{records}/{}", id(&made));
    edge.signal("KILL");
    edge.wait_for_exit();
    let edge = edge.again();
    let api = Api::new(&edge, TOKEN);
    assert_eq!(api.get(&path), made);
    assert_eq!(api.get(&format!("{records}/usage")), json!({"record_quota": null, "record_usage": 1}));
    let zone = records.trim_end_matches("/dns_records");
    let account = api.get(zone)["account"]["id"].as_str().unwrap().to_owned();
    assert_eq!(api.get(&format!("/accounts/{account}/dns_records/usage"))["record_usage"], 1);
    api.result("DELETE", zone, &Value::Null);
    let again = api.post("/zones", &json!({"name": "example.com"}));
    let records = format!("/zones/{}/dns_records", id(&again));
    assert_eq!(api.get(&records), json!([]));
    assert_eq!(api.get(&format!("/accounts/{account}/dns_records/usage"))["record_usage"], 0);
}

#[test]
fn tokens_need_the_permission_for_records() {
    let (_edge, api, records) = zone("", "example.com");
    let groups = api.get("/user/tokens/permission_groups");
    let group = |name: &str| {
        let found = groups
            .as_array()
            .unwrap()
            .iter()
            .find(|group| group["name"] == name)
            .unwrap_or_else(|| panic!("{name}"));
        json!({"id": found["id"]})
    };
    let token = |name: &str| {
        let policy = json!([{"effect": "allow", "permission_groups": [group(name)], "resources": {"com.svc.api.account.zone.*": "*"}}]);
        api.with(
            api.post("/user/tokens", &json!({"name": name, "policies": policy}))["value"].as_str().unwrap(),
        )
    };
    let record = json!({"type": "A", "name": "www", "content": "192.0.2.1"});
    assert_eq!(token("Zone Write").refused("POST", &records, &record), (403, vec![9109]));
    assert_eq!(token("DNS Read").refused("POST", &records, &record), (403, vec![9109]));
    token("DNS Write").post(&records, &record);
    assert_eq!(token("DNS Read").get(&records).as_array().unwrap().len(), 1);
}

#[test]
fn what_is_likely_not_meant_is_told_beside_the_answer() {
    let (_edge, api, records) = zone("", "example.com");
    let said = |record: &Value| -> Vec<String> {
        let (status, answer) = api.call("POST", &records, record);
        assert_eq!(status, 200, "{answer}");
        answer["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["message"].as_str().unwrap().to_owned())
            .collect()
    };
    let record =
        |kind: &str, name: &str, content: &str| json!({"type": kind, "name": name, "content": content});
    assert_eq!(
        said(&record("CNAME", "www", "web.example.com")),
        ["`web.example.com` has no records in the zone"]
    );
    assert!(
        said(&record("A", "web", "192.0.2.1")).is_empty()
            && said(&record("CNAME", "two", "web.example.com")).is_empty()
    );
    assert!(said(&record("NS", "sub", "ns.example.net")).is_empty());
    assert!(said(&record("TXT", "a.sub", "x"))[0].contains("`sub.example.com` is delegated"));
    assert!(said(&record("A", "ns.sub", "192.0.2.2")).is_empty(), "addresses below are for the name servers");
    let spf = "v=spf1 include:a include:b include:c include:d include:e include:f include:g include:h a mx ptr -all";
    assert_eq!(said(&record("TXT", "@", spf)), ["this SPF record causes 11 look-ups; mail servers make 10"]);
    said(&record("TXT", "*.wild", "x"));
    assert!(said(&record("CNAME", "w", "any.wild.example.com")).is_empty());
}

#[test]
fn what_delegations_hide_is_shown_if_it_is_asked_for() {
    let (_edge, api, records) = zone("", "example.com");
    let mut ids = std::collections::BTreeMap::new();
    for (key, record_type, name, content) in [
        ("ns", "NS", "sub", "ns1.sub.example.com"),
        ("ns2", "NS", "sub", "ns.example.net"),
        ("glue", "A", "ns1.sub", "192.0.2.1"),
        ("hidden", "TXT", "x.sub", "\"x\""),
        ("deep", "NS", "deep.sub", "ns.deep.sub.example.com"),
        ("dead", "A", "ns.deep.sub", "192.0.2.2"),
        ("free", "A", "www", "192.0.2.3"),
    ] {
        let made = api.post(&records, &json!({"type": record_type, "name": name, "content": content}));
        ids.insert(key, id(&made).to_owned());
    }
    let ds = json!({"key_tag": 1, "algorithm": 13, "digest_type": 2, "digest": "AABB"});
    ids.insert("ds", id(&api.post(&records, &json!({"type": "DS", "name": "sub", "data": ds}))).to_owned());
    let list = |query: &str| api.get(&format!("{records}?{query}"));
    let asked = list("include_shadow_metadata=true");
    let meta = |key: &str| {
        let record = asked.as_array().unwrap().iter().find(|record| id(record) == ids[key]).unwrap();
        let mut meta = record["meta"].clone();
        for name in ["auto_added", "managed_by_apps", "managed_by_svc_tunnel", "source"] {
            meta.as_object_mut().unwrap().remove(name);
        }
        if let Some(by) = meta.get_mut("shadowed_by") {
            by.as_array_mut().unwrap().sort_by_key(ToString::to_string);
        }
        meta
    };
    let mut servers = [&ids["ns"], &ids["ns2"]];
    servers.sort();
    assert_eq!(meta("free"), json!({}));
    assert_eq!(meta("ds"), json!({}));
    assert_eq!(meta("glue"), json!({"is_glue": true}));
    assert_eq!(meta("hidden"), json!({"shadowed_by": servers}));
    assert_eq!(meta("ns"), json!({"shadowed_records_count": 4}));
    assert_eq!(meta("deep"), json!({"shadowed_by": servers, "shadowed_records_count": 1}));
    assert_eq!(meta("dead"), json!({"shadowed_by": servers, "is_glue": true, "dead_glue": true}));
    let one = api.get(&format!("{records}/{}?include_shadow_metadata=true", ids["hidden"]));
    assert_eq!(one["meta"]["shadowed_by"].as_array().unwrap().len(), 2);
    assert!(api.get(&format!("{records}/{}", ids["hidden"]))["meta"].get("shadowed_by").is_none());
    let names = |query: &str| -> Vec<String> {
        let mut names: Vec<_> = list(query)
            .as_array()
            .unwrap()
            .iter()
            .map(|record| record["name"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    let hidden =
        ["deep.sub", "ns.deep.sub", "ns1.sub", "sub", "x.sub"].map(|name| format!("{name}.example.com"));
    assert_eq!(names("include_shadow_metadata=true&shadowed_by_name=sub.example.com"), hidden);
    let hiding = ["deep.sub", "sub", "sub"].map(|name| format!("{name}.example.com"));
    assert_eq!(names("shadowing_name=a.ns.deep.sub.example.com"), hiding);
    assert_eq!(names("shadowing_name=www.example.com"), Vec::<String>::new());
    for query in [
        "shadowed_by_name=sub.example.com",
        "include_shadow_metadata=true&shadowed_by_name=example.com",
        "shadowing_name=example.org",
        "include_shadow_metadata=perhaps",
    ] {
        assert_eq!(api.ask("GET", &format!("{records}?{query}"), "", "").status, 400, "{query}");
    }
}
