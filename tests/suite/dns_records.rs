//! DNS records over the API: every type as it was written, every rule by its code, lists, batches, zone files.

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

fn id(record: &Value) -> &str {
    record["id"].as_str().unwrap()
}

/// Type, name, what is written beside them, and the content that is made of it.
fn examples() -> Vec<(String, String, Value, String)> {
    let lines = include_str!("../data/dns/types.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn record(record_type: &str, name: &str, value: &Value) -> Value {
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
    let missing = format!("{records}/{}", "0".repeat(32));
    for method in ["GET", "PATCH", "PUT", "DELETE"] {
        assert_eq!(api.refused(method, &missing, &taken), (404, vec![81044]), "{method}");
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
fn lists_are_filtered_sorted_and_paged() {
    let (_edge, api, records) = zone("", "example.com");
    for (record_type, name, content, comment, tags) in [
        ("A", "www", "192.0.2.1", Some("Front door"), json!(["team:web"])),
        ("A", "api", "192.0.2.2", None, json!(["team:api", "urgent"])),
        ("TXT", "www", "Hello world", None, json!([])),
        ("CNAME", "shop", "www.example.com", Some("back"), json!([])),
    ] {
        let mut body =
            json!({"type": record_type, "name": name, "content": content, "tags": tags, "ttl": 60});
        if let Some(comment) = comment {
            body["comment"] = json!(comment);
        }
        api.post(&records, &body);
    }
    let names = |query: &str| -> Vec<String> {
        let found = api.get(&format!("{records}?{query}"));
        let label = |record: &Value| {
            format!(
                "{}/{}",
                record["type"].as_str().unwrap(),
                record["name"].as_str().unwrap().split('.').next().unwrap()
            )
        };
        found.as_array().unwrap().iter().map(label).collect()
    };
    let filters = include_str!("../data/dns/filters.tsv");
    for row in filters.lines() {
        let (query, expected) = row.split_once('\t').unwrap();
        assert_eq!(names(query), expected.split_terminator(' ').collect::<Vec<_>>(), "{query}");
    }
    assert_eq!(filters.lines().count(), 37);
    for query in [
        "name=contains:x",
        "name=starts_with:x",
        "name=ends_with:x",
        "content=contains:x",
        "type=contains:A",
        "type=NOPE",
        "name=a.example.com,b.example.com",
        "content=192.0.2.1,192.0.2.2",
        "match=some",
        "order=age",
        "direction=up",
        "proxied=x",
    ] {
        assert_eq!(
            api.refused("GET", &format!("{records}?{query}"), &Value::Null),
            (400, vec![10006]),
            "{query}"
        );
    }
    let (_, answer) = api.call("GET", &format!("{records}?per_page=3"), &Value::Null);
    assert_eq!(
        answer["result_info"],
        json!({"page": 1, "per_page": 3, "count": 3, "total_count": 4, "total_pages": 2})
    );
    let (_, answer) = api.call("GET", &format!("{records}?type=MX"), &Value::Null);
    assert_eq!(
        answer["result_info"],
        json!({"page": 1, "per_page": 100, "count": 0, "total_count": 0, "total_pages": 1})
    );
}

#[test]
fn a_batch_is_all_or_nothing() {
    let (_edge, api, records) = zone("", "example.com");
    let batch = format!("{records}/batch");
    let made = api.post(&batch, &json!({"posts": [
        {"type": "A", "name": "a", "content": "192.0.2.1"}, {"type": "A", "name": "b", "content": "192.0.2.2"}]}));
    assert_eq!((made["posts"].as_array().unwrap().len(), &made["deletes"]), (2, &json!([])));
    let (a, b) = (id(&made["posts"][0]), id(&made["posts"][1]));
    let done = api.post(
        &batch,
        &json!({
        "deletes": [{"id": a}], "patches": [{"id": b, "ttl": 60}], "puts": null,
        "posts": [{"type": "CNAME", "name": "a", "content": "b.example.com"}]}),
    );
    assert_eq!((&done["deletes"][0], &done["patches"][0]["ttl"]), (&made["posts"][0], &json!(60)));
    assert_eq!(api.get(&format!("{records}/{}", id(&done["posts"][0]))), done["posts"][0]);
    let before = api.get(&records);
    let (status, refused) = api.call("POST", &batch, &json!({
        "deletes": [{"id": b}], "posts": [{"type": "A", "name": "c", "content": "192.0.2.3"}, {"type": "A", "name": "a", "content": "192.0.2.1"}]}));
    assert_eq!(
        (status, &refused["errors"][0]["code"], &refused["errors"][0]["source"]["pointer"]),
        (400, &json!(81054), &json!("/posts/1/name")),
        "{refused}"
    );
    assert_eq!(api.get(&records), before, "nothing of it is kept");
    let (_, refused) = api.call("POST", &batch, &json!({"deletes": [{}], "puts": [{"id": 5}]}));
    assert_eq!(refused["errors"].as_array().unwrap().len(), 2, "{refused}");
    let missing = json!({"deletes": [{"id": "0".repeat(32)}]});
    assert_eq!(api.refused("POST", &batch, &missing), (404, vec![81044]));
}

#[test]
fn zone_files_are_written_and_read() {
    let (_edge, api, records) = zone("", "example.com");
    for (record_type, name, value, _) in &examples() {
        api.post(&records, &record(record_type, name, value));
    }
    api.post(
        &records,
        &json!({"type": "A", "name": "p", "content": "198.51.100.1", "proxied": true,
        "comment": "says cf_tags=x", "tags": ["a:b,c", "d"]}),
    );
    let file = api.ask("GET", &format!("{records}/export"), "", "");
    assert_eq!(file.header("content-type"), Some("text/plain; charset=utf-8"));
    let export = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with(";;")).map(str::to_owned).collect()
    };
    let (_other, other_api, other) = zone("", "example.com");
    let form = |file: &str, more: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n{file}\r\n{more}--b--\r\n")
    };
    let import = |api: &Api, records: &str, body: &str| -> (u16, Value) {
        let answer = api.ask(
            "POST",
            &format!("{records}/import"),
            "Content-Type: multipart/form-data; boundary=b\r\n",
            body,
        );
        (answer.status, serde_json::from_slice(&answer.body).unwrap())
    };
    let (status, answer) = import(&other_api, &other, &form(&file.text(), ""));
    assert_eq!(
        (status, &answer["result"]),
        (200, &json!({"recs_added": 22, "total_records_parsed": 22})),
        "{answer}"
    );
    let again = other_api.ask("GET", &format!("{other}/export"), "", "");
    assert_eq!(export(&again.text()), export(&file.text()), "what is exported is imported whole");
    let (_, answer) = import(&other_api, &other, &form(&file.text(), ""));
    assert_eq!(answer["result"]["recs_added"], 0, "{answer}");
    let text = "$ORIGIN example.com.\n$TTL 1h\n@ SOA ns1 a 1 2 3 4 5\n@ NS ns1.elsewhere.example.\n$GENERATE 1-2 g$ A 198.51.100.$\n\
                q 30 IN A 198.51.100.9 ; cf_tags=cf-proxied:false\n";
    let proxied = "--b\r\nContent-Disposition: form-data; name=\"proxied\"\r\n\r\ntrue\r\n";
    let (_, answer) = import(&other_api, &other, &form(text, proxied));
    assert_eq!(answer["result"], json!({"recs_added": 3, "total_records_parsed": 5}), "{answer}");
    let found = |name: &str| other_api.get(&format!("{other}?name={name}.example.com"))[0].clone();
    assert_eq!(
        (&found("g1")["proxied"], &found("q")["proxied"], &found("q")["ttl"]),
        (&json!(true), &json!(false), &json!(60))
    );
    for (text, part) in [
        ("$INCLUDE x\n", "$INCLUDE directive not allowed"),
        ("a A 1\nb A 2\n", "line 2"),
        ("a.example.org. A 192.0.2.1\n", "not in the zone"),
        ("www CNAME x.example.\n", "line 1: An A, AAAA, or CNAME record"),
    ] {
        let (status, answer) = import(&other_api, &other, &form(text, ""));
        assert!(status == 400 && answer["errors"].to_string().contains(part), "{answer}");
    }
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
fn the_records_of_a_zone_become_those_that_are_listed() {
    let (_edge, api, records) = zone("", "example.com");
    let record = |kind: &str, name: &str, content: &str| json!({"type": kind, "name": name, "content": content, "ttl": 300});
    let kept = api.post(&records, &record("A", "www", "192.0.2.1"));
    let changed = api.post(&records, &record("A", "api", "192.0.2.2"));
    api.post(&records, &record("CNAME", "old", "www.example.com"));
    let ds = json!({"type": "DS", "name": "sub", "data": {"key_tag": 1, "algorithm": 13, "digest_type": 2, "digest": "aa"}});
    let wanted = json!({"records": [ds, record("A", "www", "192.0.2.1"), record("A", "api", "192.0.2.3"), record("A", "old", "192.0.2.4"),
        record("NS", "sub", "ns.example.net")]});
    let before = api.get(&records);
    let plan = api.result("PUT", &format!("{records}?dry_run=true"), &wanted);
    let counts = |plan: &Value| ["deletes", "puts", "posts"].map(|part| plan[part].as_array().unwrap().len());
    assert_eq!((counts(&plan), &plan["unchanged"]), ([1, 1, 3], &json!(1)), "{plan}");
    assert_eq!(api.get(&records), before, "a plan changes nothing");
    let done = api.result("PUT", &records, &wanted);
    assert_eq!(
        (counts(&done), &done["puts"][0]["id"], &done["puts"][0]["content"]),
        ([1, 1, 3], &changed["id"], &json!("192.0.2.3"))
    );
    assert_eq!(api.get(&format!("{records}/{}", id(&kept))), kept, "what is wanted as it is stays so");
    assert_eq!(api.get(&records).as_array().unwrap().len(), 5);
    let again = api.result("PUT", &records, &wanted);
    assert_eq!(
        (counts(&again), &again["unchanged"], &again["serial"]),
        ([0, 0, 0], &json!(5), &done["serial"])
    );
    let stale = format!("{records}?if_serial=1");
    assert_eq!(api.refused("PUT", &stale, &wanted), (412, vec![10010]));
    let wrong = json!({"records": [record("A", "www", "x"), record("A", "b", "192.0.2.1"), record("CNAME", "b", "c.example")]});
    let (status, answer) = api.call("PUT", &records, &wrong);
    assert_eq!(
        (status, &answer["errors"][0]["source"]["pointer"]),
        (400, &json!("/records/0/content")),
        "{answer}"
    );
    assert_eq!(api.refused("PUT", &records, &json!({})), (400, vec![10008]));
    assert_eq!(api.get(&records).as_array().unwrap().len(), 5);
    let serial = format!("{records}?if_serial={}", again["serial"]);
    assert_eq!(counts(&api.result("PUT", &serial, &json!({"records": []}))), [5, 0, 0]);
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
